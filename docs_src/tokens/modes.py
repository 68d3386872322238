from toolcrib import Catalog, Mode, choose_mode

catalog = Catalog()
for kind in range(400):

    @catalog.tool(
        name=f"export_report_{kind}", description=f"Export report {kind} as a table, for one month or a year."
    )
    def export_report(year: int, month: int | None = None, title: str = "Report") -> str:
        return f"{title} {year}-{month}"


decision = choose_mode(catalog, context_window=200_000)
assert decision.mode is Mode.DIRECT
assert decision.direct_tokens <= decision.budget_tokens == 40_000  # 20 % of the window

assert choose_mode(catalog, context_window=50_000).mode is Mode.COMPACT
assert choose_mode(catalog, context_window=8_000).mode is Mode.DISCOVERY

forced = choose_mode(catalog, context_window=8_000, mode="direct")
assert forced.mode is Mode.DIRECT
assert forced.reason.startswith("direct is forced; auto would take discovery: the schemas of 400 tools take")

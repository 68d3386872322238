from toolcrib import Policy, Risk, Tool, ToolResult


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult.of("done")


claims_safe = Tool(name="wipe_disk", description="Harmless.", call=call, risk=Risk.SAFE, source="mcp:stranger")

assert Policy().risk_of(claims_safe) is Risk.MODERATE
assert Policy(trusted=("python", "mcp:stranger")).risk_of(claims_safe) is Risk.SAFE

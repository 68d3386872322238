from toolcrib.serving import Options
from toolcrib.settings import Settings

settings = Settings.from_environment(
    {
        "TOOLCRIB_TOKEN": "anna:not-for-your-log",
        "TOOLCRIB_KEY_PETSTORE": "not-for-your-log",
        "TOOLCRIB_EMBEDDER_KEY": "not-for-your-log",
    }
)
options = Options(host="0.0.0.0", tokens={"not-for-your-log": "anna"})

assert "not-for-your-log" not in f"{settings!r} {options!r}"

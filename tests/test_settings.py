"""Settings come from the environment alone, and a key stays with its host."""

from pathlib import Path

from toolcrib.settings import OPENAI_MODEL, OPENAI_URL, Settings


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = Settings.from_environment({})
    assert settings == Settings(cache=settings.cache, embedder_url=OPENAI_URL, embedder_model=OPENAI_MODEL)
    assert settings.cache.name == "toolcrib"
    assert Path(settings.sessions).parts[-2:] == ("toolcrib", "sessions.db")


def test_every_variable_is_read() -> None:
    settings = Settings.from_environment(
        {
            "TOOLCRIB_CACHE": "/tmp/crib",
            "TOOLCRIB_STORE": "~/sessions.db",
            "TOOLCRIB_MODEL": "openrouter:some/model",
            "TOOLCRIB_BENCH_DATA": "~/bench",
            "TOOLCRIB_EMBEDDER_URL": "https://vectors.example/v1/",
            "TOOLCRIB_EMBEDDER_KEY": "secret",
            "TOOLCRIB_EMBEDDER_MODEL": "small",
        }
    )
    assert settings == Settings(
        cache=Path("/tmp/crib"),
        store="~/sessions.db",
        model="openrouter:some/model",
        bench_data=Path.home() / "bench",
        embedder_url="https://vectors.example/v1",
        embedder_key="secret",
        embedder_model="small",
    )


def test_a_blank_variable_counts_as_not_set() -> None:
    blank = Settings.from_environment({"TOOLCRIB_CACHE": " ", "TOOLCRIB_BENCH_DATA": "", "OPENAI_API_KEY": ""})
    assert blank == Settings.from_environment({})


def test_the_openai_key_and_address_are_the_fallback() -> None:
    settings = Settings.from_environment({"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "http://localhost:8080/v1"})
    assert (settings.embedder_key, settings.embedder_url) == ("sk-1", "http://localhost:8080/v1")


def test_the_openai_key_is_not_sent_to_another_host() -> None:
    settings = Settings.from_environment({"OPENAI_API_KEY": "sk-1", "TOOLCRIB_EMBEDDER_URL": "https://other.example"})
    assert settings.embedder_key is None


def test_a_key_is_not_shown_when_settings_are_printed() -> None:
    assert "secret" not in repr(Settings.from_environment({"TOOLCRIB_EMBEDDER_KEY": "secret"}))


def test_a_key_chooses_the_model_that_talks_unless_one_is_named() -> None:
    assert Settings.from_environment({}).model == "offline"
    assert Settings.from_environment({"ANTHROPIC_API_KEY": "a"}).model.startswith("anthropic:")
    both = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}
    assert Settings.from_environment(both).model.startswith("openai:")
    assert Settings.from_environment({**both, "TOOLCRIB_MODEL": "offline"}).model == "offline"


def test_each_source_has_a_key_of_its_own_that_is_not_shown() -> None:
    settings = Settings.from_environment({"TOOLCRIB_KEY_MY_PETS": "secret", "TOOLCRIB_KEY_OTHER": " "})
    assert settings.key_of("my pets") == "secret"
    assert settings.key_of("other") is None
    assert "secret" not in repr(settings)

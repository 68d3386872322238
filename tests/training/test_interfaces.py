"""What is learned from descriptions of interfaces, packages and skills."""

from pathlib import Path
from typing import Any

import pytest

from training import clients, interfaces, packages, utterances
from training.interfaces import Operation
from training.sentences import english_sentences, is_english, says_more

DESCRIBED: dict[str, Any] = {
    "info": {"title": "The Radio Web API v2"},
    "paths": {
        "/stations/{id}": {
            "get": {
                "operationId": "getStation",
                "summary": "Look up a station by its call sign",
                "description": "Returns what is on **air** now. See [the guide](https://example.org).\n\nMore.",
            },
            "parameters": [],
        },
        "/api/v1/songs/{id}/votes": {"post": {"description": "Adds your vote for a song to the chart."}},
    },
}


def test_an_operation_is_told_by_name_summary_and_description() -> None:
    assert list(interfaces.described_operations("radio.example", DESCRIBED)) == [
        Operation(
            provider="radio.example",
            service="Radio",
            name="get station",
            summary="Look up a station by its call sign",
            description="Returns what is on air now. See the guide.",
        ),
        Operation(
            provider="radio.example",
            service="Radio",
            name="post songs votes",
            summary="",
            description="Adds your vote for a song to the chart.",
        ),
    ]


def test_names_and_tellings_are_learned_from_operations() -> None:
    operations = list(interfaces.described_operations("radio.example", DESCRIBED))

    assert interfaces.names_with_meaning(operations) == [
        ("Radio get station", "Look up a station by its call sign"),
        ("Radio post songs votes", "Adds your vote for a song to the chart."),
    ]
    assert interfaces.two_tellings(operations) == [
        ("Look up a station by its call sign", "Returns what is on air now. See the guide."),
    ]


@pytest.mark.parametrize(
    ("description", "learned"),
    [
        ("Add a song. It is played after the current one.", ["It is played after the current one."]),
        ("Add a song to the queue of the station.", []),
        ("Add a song", []),
        ("", []),
    ],
)
def test_a_description_that_begins_with_the_summary_is_learned_without_it(description: str, learned: list[str]) -> None:
    operation = Operation("radio.example", "Radio", "add", "Add a song", description)

    assert [told for _, told in interfaces.two_tellings([operation])] == learned


def test_no_service_fills_the_list() -> None:
    many = {"giant": [(f"name {n}", f"explanation {n}") for n in range(2_000)], "small": [("name", "explanation")]}

    spread = interfaces.spread(many)

    assert len(spread) <= interfaces.FROM_ONE_SERVICE + 1
    assert spread[-1] == ("name", "explanation")


@pytest.mark.parametrize(
    ("title", "service"),
    [
        ("Spotify Web API", "Spotify"),
        ("API v1.0.0", "envoice"),
        ("Weather and Climate Data Service API", "Weather and Climate"),
    ],
)
def test_a_service_is_called_by_a_few_words(title: str, service: str) -> None:
    assert interfaces.service_name(title, "envoice.in") == service


def test_only_english_sentences_without_code_are_kept() -> None:
    assert english_sentences("Sends a `message` to the channel. Set {id} to the channel. Envía un mensaje.") == [
        "Sends a message to the channel."
    ]
    assert not is_english("Recupera los datos de la cuenta para el usuario")
    assert not is_english("Получить список")


def test_a_sentence_that_repeats_the_name_teaches_nothing() -> None:
    assert not says_more("Lists the users", "acme list users")
    assert says_more("Lists people of a company", "acme list users")


def test_functions_are_told_by_their_documentation() -> None:
    source = '''
class AsyncPlaylistsApi:
    def add_item(self, uri):
        """Put a song at the end of a playlist.

        :param uri: the song
        """

    def _inner(self):
        """Used by the other methods of this class."""


async def weather(city):
    """<city>

    Tells how the weather will be in a city.
    """
'''
    assert list(clients.functions("music", source)) == [
        ("music playlists add item", "Put a song at the end of a playlist."),
        ("music weather", "Tells how the weather will be in a city."),
    ]
    assert list(clients.functions("music", "print 'Python 2'")) == []


def test_tools_of_agents_are_told_by_their_description() -> None:
    source = 'class Look(Tool):\n    name: str = "web_lookup"\n    description = "Search the web for an answer."\n'

    assert list(clients.tools("any", source)) == [("web lookup", "Search the web for an answer.")]
    assert list(clients.tool_lists("any", '[{"name": "findDrug", "description": "Find a drug by its name."}, 1]')) == [
        ("find drug", "Find a drug by its name.")
    ]


def test_commands_of_a_chat_bot_are_told_by_its_help() -> None:
    source = "# Commands:\n#   hubot forecast <city> - Get the 3 day forecast for a location.\n#\nmodule.exports = ->"

    assert list(clients.commands("hubot weather", source)) == [
        ("weather forecast city", "Get the 3 day forecast for a location.")
    ]


def test_requests_belong_to_the_name_of_their_intent_or_to_its_first_request(tmp_path: Path) -> None:
    folder = tmp_path / "locale" / "en-us"
    folder.mkdir(parents=True)
    (folder / "next.step.intent").write_text(
        "what do I do next\n# a remark\ntell me the {next_step}\n", encoding="utf-8"
    )

    assert list(utterances.requests("cooking", tmp_path)) == [
        ("what do I do next", "cooking next step"),
        ("tell me the next step", "what do I do next"),
    ]


def test_every_listed_package_has_a_licence_and_a_use(tmp_path: Path) -> None:
    rows = [line.split("\t") for line in packages.LIST.read_text(encoding="utf-8").splitlines()[1:]]

    assert all(licence for _, _, licence, _, _ in rows)
    assert {row[3] for row in rows} == {"operations", "requests", *clients.READERS}
    assert dict(packages.listed(tmp_path, "tool lists")) == {
        "tooluniverse": tmp_path / "tooluniverse" / "tooluniverse" / "data"
    }

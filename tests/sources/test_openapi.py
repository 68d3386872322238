"""OpenAPI documents as sources: every operation a tool, its arguments one object, its answers words for a model."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import PATIENCE
from tests.support.web_server import Answer, Asked, WebServer, serve_web
from toolcrib import Catalog, Risk
from toolcrib.settings import Settings
from toolcrib.sources.openapi.document import OpenApiDocument, SchemaBundle
from toolcrib.sources.openapi.request import Arguments, request_of, result_schema
from toolcrib.sources.openapi.source import OpenApiSource
from toolcrib.sources.source import SourceGroup, SourceState
from toolcrib.sources.web import WebLimits

PETS = Path(__file__).parent / "petstore.yaml"
NO_KEYS = Settings.from_environment({})


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serve_web() as server:
        yield server


@asynccontextmanager
async def opened(
    catalog: Catalog, web: WebServer | None = None, document: Path | str = PETS, **options: Any
) -> AsyncGenerator[OpenApiSource]:
    if web is not None:
        options = {"base_url": f"{web.origin}/v1", "open_origins": (web.origin,), **options}
    source = OpenApiSource("pets", document, catalog, settings=options.pop("settings", NO_KEYS), **options)
    async with asyncio.timeout(PATIENCE), SourceGroup([source]) as group:
        await group.wait_until_settled()
        yield source


def written(folder: Path, **paths: Any) -> Path:
    document = {"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "paths": paths.pop("paths", {}), **paths}
    path = folder / "openapi.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


async def test_every_operation_is_a_tool_with_its_words_its_tag_and_its_risk() -> None:
    catalog = Catalog()
    async with opened(catalog, key="k") as source:
        assert (source.state, source.name) == (SourceState.READY, "openapi:pets")
        assert [(tool.name, tool.category, tool.risk, tool.description) for tool in catalog] == [
            ("pets__listPets", "pets", Risk.SAFE, "List the pets. Newest come first."),
            ("pets__addPet", "pets", Risk.MODERATE, "POST /pets"),
            ("pets__getPet", "pets", Risk.SAFE, "GET /pets/{id}"),
            ("pets__pets_put", "pets", Risk.MODERATE, "PUT /pets/{id}"),
            ("pets__deletePet", "pets", Risk.DESTRUCTIVE, "DELETE /pets/{id}"),
            ("pets__setNotes", "pets", Risk.MODERATE, "PUT /notes"),
            ("pets__post_notes", "pets", Risk.MODERATE, "Write a note."),
            ("pets__sendForm", "pets", Risk.MODERATE, "POST /forms"),
        ]
        assert source.problems == (
            "POST /photos is no tool: its body is multipart/form-data, which cannot be written from arguments.",
            f"GET /elsewhere is no tool: {PETS}: 'https://evil.example/x.yaml#/Id' leads out of the document.",
        )
    assert len(catalog) == 0


async def test_parameters_and_body_are_one_object_with_clash_free_names() -> None:
    catalog = Catalog()
    async with opened(catalog, key="k"):
        assert catalog.get("pets__listPets").parameters["properties"] == {
            "trace": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Only these."},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "near": {"type": "object"},
            "page_size_": {"type": "integer", "exclusiveMinimum": 0},
            "seen": {"type": "boolean"},
        }
        assert list(catalog.get("pets__pets_put").parameters["properties"]) == ["id__path", "id__query", "id", "name"]
        assert catalog.get("pets__pets_put").parameters["required"] == ["id__path"]
        assert catalog.get("pets__addPet").parameters == {
            "type": "object",
            "properties": {
                "trace": {"type": "string"},
                "name": {"type": ["string", "null"]},
                "kind": {"$ref": "#/$defs/Kind"},
                "parent": {"$ref": "#/$defs/Pet"},
            },
            "required": ["name"],
            "$defs": {
                "Kind": {"type": "string", "enum": ["cat", "dog"]},
                "Pet": {
                    "type": "object",
                    "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Pet"}}},
                },
            },
        }


def sent(web: WebServer) -> tuple[str, str, bytes]:
    [asked] = web.asked
    return asked.method, asked.path, asked.body


@pytest.mark.parametrize(
    ("tool", "arguments", "request_line"),
    [
        (
            "listPets",
            {"tags": ["a b", "c&d"], "ids": [1, 2], "near": {"x": 1}, "page_size_": 5, "trace": "t\r\nEvil: 1"},
            ("GET", "/v1/pets?tags=a%20b&tags=c%26d&ids=1%2C2&near%5Bx%5D=1&page%5Bsize%5D=5&api_key=s%203", b""),
        ),
        ("getPet", {"id": "a/../b?c"}, ("GET", "/v1/pets/a%2F..%2Fb%3Fc", b"")),
        (
            "pets_put",
            {"id__path": "1", "id__query": "2", "id": "3", "name": None},
            ("PUT", "/v1/pets/1?id=2&api_key=s%203", b'{"id": "3", "name": null}'),
        ),
        ("deletePet", {"id": 7}, ("DELETE", "/v1/pets/7?api_key=s%203", b"")),
        ("post_notes", {"body": "plain words"}, ("POST", "/v1/notes?api_key=s%203", b"plain words")),
        ("setNotes", {"body": ["a", "b"]}, ("PUT", "/v1/notes?api_key=s%203", b'["a", "b"]')),
        ("sendForm", {"name": "x y", "tags": [1, 2]}, ("POST", "/v1/forms?api_key=s%203", b"name=x+y&tags=1&tags=2")),
        ("sendForm", {}, ("POST", "/v1/forms?api_key=s%203", b"")),
    ],
)  # fmt: skip
async def test_arguments_go_where_they_belong(web: WebServer, tool: str, arguments: Any, request_line: Any) -> None:
    web.answers[request_line[1].partition("?")[0]] = Answer(body={"ok": True})
    catalog = Catalog()
    async with opened(catalog, web, key="s 3"):
        result = await catalog.get(f"pets__{tool}").call(arguments)
    assert (result.text, result.value) == ('{"ok":true}', {"ok": True})
    assert sent(web) == request_line
    assert "evil" not in web.asked[0].headers


@pytest.mark.parametrize("value", ["", ".", ".."])
async def test_a_value_that_would_lead_to_another_place_is_refused(web: WebServer, value: str) -> None:
    catalog = Catalog()
    async with opened(catalog, web, key="k"):
        result = await catalog.get("pets__deletePet").call({"id": value})
    assert result.text == f"pets was not called: id cannot be {value!r}: it stands in an address."
    assert web.asked == []


@pytest.mark.parametrize(
    ("scheme", "place", "told"),
    [
        ("login", "authorization", "Basic dXNlcjpwYXNz"),
        ("token", "authorization", "Bearer user:pass"),
        ("header", "x-key", "user:pass"),
        ("cookie", "cookie", "seen=true; session=user%3Apass"),
    ],
)
async def test_a_key_goes_along_as_the_document_wants_it_and_shows_nowhere(
    web: WebServer, tmp_path: Path, scheme: str, place: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    document = tmp_path / "pets.yaml"
    document.write_text(PETS.read_text().replace("security: [{key: []}]", f"security: [{{{scheme}: []}}]"))
    web.answers["/v1/pets"] = lambda asked: Answer(status=400, body=f"wrong: {asked.headers} user:pass")
    catalog = Catalog()
    with caplog.at_level("DEBUG"):
        async with opened(catalog, web, document, key="user:pass") as source:
            tool = catalog.get("pets__listPets")
            result = await tool.call({"seen": True})
            assert "user:pass" not in repr(source) + repr(tool)
    assert web.asked[0].headers[place] == told
    assert "user:pass" not in result.text
    assert "user:pass" not in caplog.text


async def test_without_a_key_only_what_is_open_can_be_called(web: WebServer) -> None:
    web.answers["/v1/pets/1"] = Answer(body={"name": "Rex"})
    catalog = Catalog()
    async with opened(catalog, web) as source:
        assert source.state is SourceState.NEEDS_LOGIN
        assert source.problem == "pets needs a key. Ask the user to set TOOLCRIB_KEY_PETS."
        closed = await catalog.get("pets__listPets").call({})
        assert closed.text == "pets needs a key. Ask the user to set TOOLCRIB_KEY_PETS."
        assert (await catalog.get("pets__getPet").call({"id": "1"})).value == {"name": "Rex"}
    assert len(web.asked) == 1


async def test_the_key_comes_from_the_settings(web: WebServer) -> None:
    web.answers["/v1/pets"] = Answer(body=[])
    catalog = Catalog()
    settings = Settings.from_environment({"TOOLCRIB_KEY_PETS": "s3cret"})
    assert "s3cret" not in repr(settings)
    async with opened(catalog, web, settings=settings) as source:
        assert source.state is SourceState.READY
        await catalog.get("pets__listPets").call({})
    assert web.asked[0].path == "/v1/pets?api_key=s3cret"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Answer(status=404, body=["no\u200b pet"]), 'pets answered 404 Not Found: ["no pet"] Check the identifiers.'),
        (Answer(status=503), "pets answered 503 Service Unavailable. Try again later."),
        (Answer(status=429, headers={"Retry-After": "9"}),
         "pets answered 429 Too Many Requests. Wait before you call it again. Retry after: 9."),
        (Answer(status=418, body="x"), "pets answered 418 I'm a Teapot: x"),
        (Answer(status=499), "pets answered 499."),
        (Answer(silent=True), "pets gave no answer: "),
    ],
)  # fmt: skip
async def test_an_error_is_one_that_a_model_can_act_on(web: WebServer, answer: Answer, text: str) -> None:
    web.answers["/v1/pets/1"] = answer
    catalog = Catalog()
    async with opened(catalog, web, key="k", limits=WebLimits(seconds=0.3)):
        result = await catalog.get("pets__getPet").call({"id": "1"})
    assert result.failed
    assert result.text.startswith(text) if answer.silent else result.text == text


@pytest.mark.parametrize(
    ("answer", "text", "value"),
    [
        (Answer(body=b"", headers={"Content-Type": "application/json"}), "Done: no content.", ""),
        (Answer(body="<b>hi</b>"), "<b>hi</b>", "<b>hi</b>"),
        (
            Answer(body=b"\x89PNG", headers={"Content-Type": "image/png"}),
            "[image/png, 4 bytes]",
            "[image/png, 4 bytes]",
        ),
        (Answer(body=b"{oops", headers={"Content-Type": "application/json"}), "{oops", "{oops"),
        (Answer(body=b"[1]", headers={"Content-Type": "application/problem+json"}), "[1]", [1]),
    ],
)
async def test_any_kind_of_answer_becomes_a_text_and_a_value(
    web: WebServer, answer: Answer, text: str, value: Any
) -> None:
    web.answers["/v1/pets/1"] = answer
    catalog = Catalog()
    async with opened(catalog, web, key="k"):
        result = await catalog.get("pets__getPet").call({"id": "1"})
    assert (result.text, result.value, result.failed) == (text, value, False)


async def test_a_large_answer_is_cut_and_says_so(web: WebServer) -> None:
    web.answers["/v1/pets/1"] = Answer(body=["x" * 50] * 1_000)
    catalog = Catalog()
    async with opened(catalog, web, key="k", limits=WebLimits(body_bytes=1_000)):
        result = await catalog.get("pets__getPet").call({"id": "1"})
    assert result.text.endswith("\n\n(There is more; it was cut here. Ask for less.)")
    assert len(result.text) < 1_100


async def test_a_private_address_is_not_asked_unless_it_is_opened() -> None:
    catalog = Catalog()
    async with opened(catalog, key="k"):
        result = await catalog.get("pets__getPet").call({"id": "1"})
    assert result.text == ("pets was not called: its address may not be asked. Tell the user; it can be opened for it.")


async def test_a_document_is_read_from_the_web_through_the_guard(web: WebServer) -> None:
    document = json.loads(json.dumps({"openapi": "3.1.0", "servers": [{"url": "/api"}], "paths": {"/x": {"get": {}}}}))
    web.answers["/openapi.json"] = Answer(body=document)
    web.answers["/api/x"] = Answer(body={"x": 1})
    catalog, address = Catalog(), f"{web.origin}/openapi.json"
    source = OpenApiSource("pets", address, catalog, open_origins=(web.origin,), key="k", settings=NO_KEYS)
    await source.refresh()
    assert (await catalog.get("pets__get_x").call({})).value == {"x": 1}
    assert web.asked[-1].headers["authorization"] == "Bearer k"

    closed = OpenApiSource("pets", address, Catalog(), settings=NO_KEYS)
    await closed.refresh()
    assert closed.state is SourceState.DOWN
    assert "private network" in closed.problem

    web.answers["/openapi.json"] = Answer(status=500)
    await source.refresh()
    assert source.problem == "The document of pets cannot be fetched: its address answers with status 500."
    assert len(catalog) == 1  # what was known stays
    await source.stop()


async def test_a_document_from_the_web_cannot_send_the_key_to_another_host_by_itself(web: WebServer) -> None:
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "servers": [{"url": "https://evil.example"}],
        "paths": {"/x": {"get": {}}},
    }
    web.answers["/openapi.json"] = Answer(body=document)
    address = f"{web.origin}/openapi.json"
    source = OpenApiSource("pets", address, Catalog(), open_origins=(web.origin,), key="k", settings=NO_KEYS)
    await source.refresh()
    assert source.problem == f"{address}: it wants its calls, and your key, at https://evil.example."


LEADING_AWAY = (
    ".evil.example/steal",
    ":8443/steal",
    "@evil.example/steal",
    "//evil.example/steal",
    "/\\evil.example",
    "\\\\evil.example",
    "%2eevil.example/steal",
    "/%2f%2fevil.example",
    "/%252f%252fevil.example",
    "/%5cevil.example",
    "/../admin",
    "/%2e%2e/admin",
    "/a/%252e%252e/admin",
    "/%2525252525252e/admin",
    "/a#b",
    "/a\n@evil.example",
    "?@evil.example",
    "",
)


@pytest.mark.parametrize("path", LEADING_AWAY)
async def test_no_path_of_a_document_takes_the_key_to_another_host(web: WebServer, tmp_path: Path, path: str) -> None:
    document = written(tmp_path, paths={path: {"get": {"operationId": "steal"}}, "/good": {"get": {}}})
    catalog = Catalog()
    async with opened(catalog, web, document, key="k") as source:
        assert [tool.name for tool in catalog] == ["pets__get_good"]
        assert source.problems == (
            f"GET {path} is no tool: the path {path!r} could lead to another address than the service's.",
        )


@pytest.mark.parametrize(
    "base", ["https://bank.example\\.evil.example", "https://bank@evil.example", "https://evil.example?bank.example"]
)
async def test_a_base_address_that_can_be_read_in_two_ways_is_refused(tmp_path: Path, base: str) -> None:
    document = written(tmp_path, paths={"/x": {"get": {}}}, servers=[{"url": base}])
    async with opened(Catalog(), document=document, key="k") as source:
        assert (source.state, source.tools) == (SourceState.DOWN, ())
        assert source.problem == f"{document}: {base!r} is no plain address of a service."


def test_a_request_that_would_leave_its_origin_is_never_built() -> None:
    with pytest.raises(ValueError, match="another host"):
        request_of("get", "https://bank.example", ".evil.example/steal", Arguments((), {}), {}, None)


async def test_a_fixed_query_of_a_path_stays_beside_the_arguments(web: WebServer, tmp_path: Path) -> None:
    parameter = {"name": "id", "in": "query", "schema": {"type": "integer"}}
    document = written(tmp_path, paths={"/x?action=list": {"get": {"operationId": "x", "parameters": [parameter]}}})
    web.answers["/v1/x"] = Answer(body={})
    catalog = Catalog()
    async with opened(catalog, web, document):
        await catalog.get("pets__x").call({"id": 1})
    assert sent(web)[1] == "/v1/x?action=list&id=1"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "it has no `openapi` version; 3.0 and 3.1 are read."),
        ("swagger: '2.0'", "it has no `openapi` version; 3.0 and 3.1 are read."),
        ('{"openapi": "4.0"}', "it has version 4.0; 3.0 and 3.1 are read."),
        ('{"openapi": "3.1.0"}', "it does not say where the service is."),
        ("a: [", "it is neither JSON nor YAML."),
    ],
)  # fmt: skip
async def test_a_document_that_is_no_openapi_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "doc"
    path.write_text(text)
    async with opened(Catalog(), document=path) as source:
        assert source.state is SourceState.DOWN
        assert source.problem.startswith(str(path))
        assert source.problem.endswith(problem)


BOMB = """\
openapi: '3.1.0'
servers: [{url: 'https://a.example'}]
x0: &a0 {type: string, description: lol}
""" + "".join(f"x{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 8)}]\n" for number in range(1, 12))
MERGES = "openapi: '3.1.0'\nx0: &a0 {a: 1, b: 2}\n" + "".join(
    f"x{number}: &a{number} {{<<: [*a{number - 1}, *a{number - 1}], k{number}: 1}}\n" for number in range(1, 40)
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            BOMB + "paths: {/x: {post: {requestBody: {content: {application/json: {schema: *a11}}}}}}\n",
            "aliases stand for",
        ),
        (MERGES, "aliases stand for too many values"),
        ("a: &a [*a]", "aliases stand for too many values"),
        ("a: " + "[" * 5_000 + "]" * 5_000, "nested deeper than 200 levels"),
        ('{"openapi": "3.1.0", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested deeper than 200 levels"),
        ('{"openapi": "3.1.0", "x": ' + "[" * 400 + "]" * 400 + "}", "nested deeper than 200 levels"),
        ('{"openapi": "3.1.0", "x": [' + "0," * 1_000_000 + "0]}", "more than 1,000,000 values"),
        ("a: " + "x" * 20_000_001, "larger than 20,000,000 bytes"),
    ],
    ids=["aliases", "merges", "itself", "deep YAML", "very deep JSON", "deep JSON", "values", "size"],
)
async def test_a_document_that_is_too_much_is_refused_before_it_is_read(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "doc"
    path.write_text(text)
    async with opened(Catalog(), document=path) as source:
        assert source.state is SourceState.DOWN
        assert problem in source.problem


async def test_an_operation_that_is_too_much_is_left_out_and_the_others_are_tools(tmp_path: Path) -> None:
    part: dict[str, Any] = {"$ref": "#/components/schemas/S0"}
    doubling = {f"S{number}": {"allOf": [{"$ref": f"#/components/schemas/S{number + 1}"}] * 2} for number in range(40)}
    body = {"requestBody": {"content": {"application/json": {"schema": part}}}}
    wide = {"requestBody": {"content": {"application/json": {"schema": {"oneOf": [{"type": "string"}] * 30_000}}}}}
    document = written(
        tmp_path,
        paths={
            "/doubling": {"post": body},
            "/wide": {"post": wide},
            "/circle": {"$ref": "#/paths/~1circle"},
            "/good": {"get": {}},
        },
        components={"schemas": doubling | {"S40": {"type": "object", "properties": {"a": {"type": "string"}}}}},
    )
    catalog = Catalog()
    async with opened(catalog, document=document) as source:
        assert [tool.name for tool in catalog] == ["pets__get_good"]
        assert source.problems == (
            f"/circle is no tool: {document}: '#/paths/~1circle' refers to itself.",
            "POST /doubling is no tool: its schema has more than 20,000 parts.",
            "POST /wide is no tool: its schema has more than 20,000 parts.",
        )


async def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    async with opened(Catalog(), document=tmp_path / "none") as source:
        assert source.problem == f"{tmp_path / 'none'}: it cannot be read: No such file or directory."


def schema_of(folder: Path, schema: Any, version: str = "3.1.0", **schemas: Any) -> tuple[Any, Any]:
    content = {"openapi": version, "components": {"schemas": schemas}}
    bundle = SchemaBundle(OpenApiDocument.parsed(json.dumps(content), "doc"))
    return bundle.schema(schema), bundle.definitions(room=1_000)


def test_a_property_named_like_a_keyword_is_a_property(tmp_path: Path) -> None:
    schema = {"properties": {"example": {"type": "string"}, "$ref": {"type": "string"}, "x-id": {}}, "x-id": 1}
    assert schema_of(tmp_path, schema)[0] == {
        "properties": {"example": {"type": "string"}, "$ref": {"type": "string"}, "x-id": {}}
    }


def test_definitions_of_one_name_stay_apart_and_far_ones_give_way(tmp_path: Path) -> None:
    large = {"description": "x" * 1_000}
    schema = {"anyOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B/properties/A"}]}
    found, definitions = schema_of(
        tmp_path, schema, A=large, B={"properties": {"A": {"items": [{"$ref": "#/components/schemas/A"}]}}}
    )
    assert found == {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A_2"}]}
    assert definitions == {"A": large, "A_2": {}}


def test_a_schema_without_an_end_is_cut_where_no_model_follows(tmp_path: Path) -> None:
    deep: dict[str, Any] = {}
    for _ in range(80):
        deep = {"items": deep}
    assert json.dumps(schema_of(tmp_path, deep)[0]).count("items") < 70


async def test_odd_bodies_and_parameters_do_not_stop_the_others(tmp_path: Path) -> None:
    content = {"application/json": {"schema": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}}
    paths = {
        "/a": {"post": {"operationId": "either", "requestBody": {"content": content}}},
        "/b": {"get": {"operationId": "b", "parameters": ["nonsense", {"name": "x", "in": "nowhere"}]}},
        "/c": {"get": {"operationId": "c", "parameters": [{"$ref": "#/nowhere"}]}},
        "/d/{q}": {"get": {"operationId": "d", "parameters": [
            {"name": "q", "in": "path", "content": {"application/json": {"schema": {"type": "object"}}}}]}},
        "/e": "nonsense",
    }  # fmt: skip
    catalog = Catalog()
    async with opened(catalog, document=written(tmp_path, paths=paths)) as source:
        assert list(catalog.get("pets__either").parameters["properties"]) == ["body"]
        assert [tool.name for tool in catalog] == ["pets__either", "pets__b", "pets__d"]
        assert source.problems[0].endswith("'#/nowhere' leads nowhere.")


async def test_a_head_and_a_nested_path_value_are_written_as_they_should(web: WebServer, tmp_path: Path) -> None:
    item = {"name": "q", "in": "path", "required": True, "explode": True, "schema": {"type": "object"}}
    query = {"name": "f", "in": "query", "explode": False, "schema": {"type": "object"}}
    pipes = {"name": "p", "in": "query", "style": "pipeDelimited", "schema": {"type": "array"}}
    plain = {"name": "o", "in": "query", "schema": {"type": "object"}}
    paths = {"/d/{q}": {"get": {"operationId": "d", "parameters": [item, query, pipes, plain]}}}
    asked: list[Asked] = []
    web.answers["/v1/d/a=1,b=2"] = lambda one: asked.append(one) or Answer(body=1.5)
    catalog = Catalog()
    async with opened(catalog, web, written(tmp_path, paths=paths)):
        given = {"q": {"a": 1, "b": 2}, "f": {"x": 1.5}, "p": [True, None], "o": {"k": "v"}}
        assert (await catalog.get("pets__d").call(given)).value == 1.5
    assert asked[0].path == "/v1/d/a=1,b=2?f=x%2C1.5&p=true%7Cnull&k=v"


RETURNS: Any = {
    "openapi": "3.1.0",
    "components": {
        "schemas": {
            "Pet": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "mother": {"$ref": "#/components/schemas/Pet"}},
            }
        }
    },
}


@pytest.mark.parametrize(
    ("responses", "schema"),
    [
        ({"200": {"content": {"application/json": {"schema": {"type": "integer"}}}}}, {"type": "integer"}),
        ({"404": {"content": {"application/json": {"schema": {"type": "integer"}}}}}, None),
        ({"204": {"description": "nothing"}}, None),
        ({"200": {"content": {"text/html": {"schema": {"type": "string"}}}}}, None),
        ({"200": {"content": {"application/json": {}}}}, None),
    ],
    ids=["plain", "only errors", "nothing", "no JSON", "not said"],
)
def test_what_an_operation_answers_is_its_output_schema(responses: Any, schema: Any) -> None:
    document = OpenApiDocument("here", {**RETURNS, "paths": {}})
    assert result_schema(document, {"responses": responses}) == schema


def test_a_schema_of_answers_that_refers_to_itself_is_kept_whole() -> None:
    document = OpenApiDocument("here", {**RETURNS, "paths": {}})
    content = {
        "application/vnd.pets+json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}}
    }
    schema = result_schema(document, {"responses": {"201": {"content": content}}})
    assert schema is not None
    assert (schema["items"], list(schema["$defs"])) == ({"$ref": "#/$defs/Pet"}, ["Pet"])

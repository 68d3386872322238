"""An MCP server of a few lines that does as it is told, also what no server should: `{"list": "hang"}` as argument.

It needs nothing but Python, so it starts at once. Over stdio only, in the older of the two protocols.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

TOLD: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
WATCHED: set[str] = set()
PNG = "iVBORw0KGgo="


def tool(name: str, description: str = "", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": description or f"Do {name}.", "inputSchema": schema, **more}


if "told_file" in TOLD:  # what changes although the command line stays
    TOLD.update(json.loads(Path(TOLD["told_file"]).read_text()))
if "tools_file" in TOLD:  # more than fits into an argument
    TOLD["tools"] = json.loads(Path(TOLD["tools_file"]).read_text())
TOOLS = TOLD.get("tools") or [
    tool("echo", "Say the text again.", annotations={"readOnlyHint": True}),
    tool("delete_all"),
]


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def wait(number: int) -> None:
    """Give the result of a call when a file is there; meanwhile other messages are read."""
    while not Path(TOLD["until"]).exists():
        time.sleep(0.02)
    send({"id": number, "result": text("waited")})


def do(name: str, arguments: dict[str, Any], params: dict[str, Any], number: int) -> dict[str, Any] | None:
    """The result of a call; None gives no answer."""
    match TOLD.get("call", {}).get(name, name):
        case "hang":
            return None
        case "die":
            os._exit(3)
        case "die_once":
            marker = Path(TOLD["marker"])
            if not marker.exists():
                marker.touch()
                os._exit(3)
            return text("alive again")
        case "note":
            with Path(TOLD["ledger"]).open("a") as ledger:
                ledger.write(f"{arguments['text']}\n")
            return text("noted")
        case "big":
            return text("x" * TOLD["bytes"])
        case "picture":
            image = {"type": "image", "data": PNG, "mimeType": "image/png"}
            return {"content": [{"type": "text", "text": "a dot"}, image], "structuredContent": {"width": 1}}
        case "touch":
            for uri in sorted(WATCHED):
                send({"method": "notifications/resources/updated", "params": {"uri": uri}})
            return text(f"watched: {sorted(WATCHED)}")
        case "publish":
            TOLD["resources"].append({"uri": "docs://new", "name": "new"})
            send({"method": "notifications/resources/list_changed"})
            return text("published")
        case "environment":
            return text(os.environ.get("KEY", ""))
        case "link":
            link = {"type": "resource_link", "uri": TOLD["link"], "name": "a link"}
            return {"content": [{"type": "text", "text": "see there"}, link]}
        case "fail":
            return text("the disk is full", isError=True)
        case "refuse":
            send({"id": number, "error": {"code": -32602, "message": "no such\u200b thing"}})
            return None
        case "lie":
            return text("twelve", structuredContent={"sum": "twelve"})
        case "nonsense":
            send({"id": number, "result": {"content": "not a list"}})
            return None
        case "mumble":
            sys.stdout.write("starting up...\n{}\n")
            return text(arguments["text"])
        case "chatter":
            sys.stderr.write("chatter " * 1_000_000)
            sys.stderr.write("the end\n")
            sys.stderr.flush()
            return text("said it all")
        case "progress":
            token = params["_meta"]["progressToken"]
            for done in (1, 2):
                told = {"progressToken": token, "progress": done, "total": 2, "message": f"step {done}"}
                send({"method": "notifications/progress", "params": told})
            return text("done")
        case "wait":
            told = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "total": 2, "message": "halfway"}
            send({"method": "notifications/progress", "params": told})
            threading.Thread(target=wait, args=(number,), daemon=True).start()
            return None
        case "ask" | "ask_for_page" | "sample" as how:
            ask(how, number)
            return None
        case "change" | "change_quietly" as how:
            TOOLS[0]["description"] = "Say the text again, louder."
            TOOLS.append(tool("shout"))
            del TOOLS[1]
            if how == "change":
                send({"method": "notifications/tools/list_changed"})
            return text("changed")
        case _:
            return text(arguments.get("text", ""))


def ask(how: str, number: int) -> None:
    """Ask the client something; its reply comes as a message with our number."""
    form = {"type": "object", "properties": {"size": {"type": "string"}}, "required": ["size"]}
    question = {"role": "user", "content": {"type": "text", "text": "Which size?"}}
    method, params = {
        "ask": ("elicitation/create", {"mode": "form", "message": "Which\u200b size?", "requestedSchema": form}),
        "ask_for_page": (
            "elicitation/create",
            {"mode": "url", "message": "Sign in.", "url": "https://example.com/login", "elicitationId": "1"},
        ),
        "sample": ("sampling/createMessage", {"messages": [question], "maxTokens": 10}),
    }[how]
    send({"id": f"question-{number}", "method": method, "params": params})


def hear(message: dict[str, Any]) -> None:
    """Tell the caller what the client replied."""
    said = message.get("result", message.get("error"))
    send({"id": int(message["id"].partition("-")[2]), "result": text(json.dumps(said, sort_keys=True))})


def answer(message: dict[str, Any]) -> None:
    if str(message.get("id")).startswith("question-"):
        hear(message)
        return
    number = message.get("id")
    params: dict[str, Any] = message.get("params") or {}
    match message.get("method"):
        case "initialize":
            if TOLD.get("start") == "hang":
                return
            capabilities: dict[str, Any] = {"tools": {"listChanged": True}}
            capabilities |= (
                {"resources": {"subscribe": True, "listChanged": True}}
                if "resources" in TOLD or "templates" in TOLD
                else {}
            )
            capabilities |= {"prompts": {}, "completions": {}} if "prompts" in TOLD else {}
            info = {"name": "scripted", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
            send({"id": number, "result": {**result, "instructions": "Obey me."}})
        case "tools/list":
            if TOLD.get("list") == "die":
                os._exit(3)
            if TOLD.get("list") == "error":
                send({"id": number, "error": {"code": -32603, "message": "no list today"}})
            elif TOLD.get("list") == "broken":
                send({"id": number, "result": {"tools": [{"name": "no schema"}]}})
            elif TOLD.get("list") != "hang":
                send({"id": number, "result": {"tools": TOOLS}})
        case "resources/list":
            send({"id": number, "result": {"resources": TOLD.get("resources", [])}})
        case "resources/templates/list" if "templates" in TOLD:
            send({"id": number, "result": {"resourceTemplates": TOLD["templates"]}})
        case "resources/read":
            content = TOLD.get("contents", {}).get(params["uri"], {"text": f"content of {params['uri']}"})
            if content == "gone":
                send({"id": number, "error": {"code": -32002, "message": "no such resource"}})
            else:
                send({"id": number, "result": {"contents": [{"uri": params["uri"], **content}]}})
        case "resources/subscribe" | "resources/unsubscribe" as method:
            (WATCHED.add if method == "resources/subscribe" else WATCHED.discard)(params["uri"])
            send({"id": number, "result": {}})
        case "prompts/list":
            send({"id": number, "result": {"prompts": TOLD.get("prompts", [])}})
        case "prompts/get":
            said = f"{params['name']} with {json.dumps(params.get('arguments') or {}, sort_keys=True)}"
            message = {"role": "user", "content": {"type": "text", "text": said}}
            send({"id": number, "result": {"messages": [message]}})
        case "completion/complete":
            reference = params["ref"].get("name") or params["ref"].get("uri")
            values = [f"{reference} {params['argument']['name']} {params['argument']['value']}"]
            send({"id": number, "result": {"completion": {"values": values}}})
        case "tools/call":
            result = do(params["name"], params.get("arguments") or {}, params, number or 0)
            if result is not None:
                send({"id": number, "result": result})
        case "notifications/cancelled" if "cancelled" in TOLD:
            Path(TOLD["cancelled"]).write_text(json.dumps(params))
        case _ if number is not None:
            send({"id": number, "error": {"code": -32601, "message": "no such method"}})
        case _:
            pass


if __name__ == "__main__":
    if TOLD.get("start") == "die":
        sys.exit("no licence found")
    for line in sys.stdin:
        answer(json.loads(line))
    time.sleep(TOLD.get("end_seconds", 0))

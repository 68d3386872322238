# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolCall
from pages import TOOLS

from toolcrib.integrations import ToolcribMiddleware


class ScriptedModel(FakeMessagesListChatModel):
    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def calls(name: str, args: dict[str, str]) -> AIMessage:
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id=name)])


search = calls("tool_search", {"query": "den Titel einer Seite ändern"})
model = ScriptedModel(responses=[search, calls("rename_page", {"slug": "home", "title": "Start"}), AIMessage("Done.")])

# before: create_agent(model, TOOLS, middleware=[LLMToolSelectorMiddleware(max_tools=3)])
agent = create_agent(model, middleware=[ToolcribMiddleware(TOOLS)])

done = agent.invoke({"messages": [{"role": "user", "content": "Nenne die Startseite um"}]})
said = [message.text for message in done["messages"]]
assert said[2].startswith("Ready to call")
assert said[4:] == ["home is now called Start", "Done."]

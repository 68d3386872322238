import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from toolcrib import Catalog, CribToolset

catalog = Catalog()


@catalog.tool
def get_forecast(city: str) -> str:
    """Get the weather forecast for a city."""
    return f"Sunny in {city}."


model = TestModel(call_tools=[])  # in earnest: "openai:gpt-5.4"

agent = Agent(model, toolsets=[CribToolset(catalog)])
asyncio.run(agent.run("Will it rain in Paris?"))

assert model.last_model_request_parameters is not None
assert [tool.name for tool in model.last_model_request_parameters.function_tools] == ["tool_search"]

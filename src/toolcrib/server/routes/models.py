"""Which models a message can choose."""

import asyncio
from dataclasses import asdict

from fastapi import APIRouter

from toolcrib.agent.models import available_models
from toolcrib.server.schemas import ModelList, ModelShape
from toolcrib.server.services import ServicesHere

routes = APIRouter(prefix="/api/models", tags=["models"])


@routes.get("")
async def models(services: ServicesHere, local: bool = False) -> ModelList:
    """The models of providers whose key is set and the offline brain; with `local`, also those of model servers on
    this machine, which is asked only then."""
    served = services.served
    offered = await asyncio.to_thread(available_models, local=local) if served.choose_model else []
    return ModelList(current=served.model, models=[ModelShape(**asdict(one)) for one in offered])

"""Errors as answers: `{"error": message, "hint": hint or null}`, with the status that fits."""

import logging
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from toolcrib.errors import (
    ConfirmationError,
    ServerBusyError,
    SessionBusyError,
    StoreError,
    ToolcribError,
    UnknownSessionError,
    UnknownToolError,
)

logger = logging.getLogger(__name__)

STATUS: dict[type[ToolcribError], int] = {  # any other is 400
    UnknownSessionError: 404,
    UnknownToolError: 404,
    SessionBusyError: 409,
    ConfirmationError: 409,
    ServerBusyError: 503,
    StoreError: 503,
}


def answer(status: int, message: str, hint: str | None = None, headers: dict[str, str] | None = None) -> JSONResponse:
    """A refusal."""
    return JSONResponse({"error": message, "hint": hint}, status, headers)


def refused(status: int, message: str, hint: str | None = None) -> HTTPException:
    """The same, to be raised inside a route."""
    return HTTPException(status, {"error": message, "hint": hint})


def answer_errors(app: FastAPI) -> None:
    """Let every error of this app be answered in one form."""
    app.add_exception_handler(ToolcribError, _ours)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(StarletteHTTPException, _by_status)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ToolcribError)
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 400)
    headers = {"Retry-After": "5"} if status == 503 else None
    return answer(status, str(error), error.hint, headers)


async def _unreadable(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = cast("dict[str, Any]", error.errors()[0])
    place = ".".join(str(step) for step in first["loc"] if step != "body")
    return answer(422, f"{place or 'The body'}: {first['msg']}.", "See /openapi.json for what is expected.")


async def _by_status(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StarletteHTTPException)
    headers = dict(error.headers or {})
    if isinstance(error, HTTPException) and isinstance(cast("object", error.detail), dict):
        said: dict[str, Any] = cast("Any", error.detail)
        return answer(error.status_code, said["error"], said["hint"], headers)
    message = f"{HTTPStatus(error.status_code).phrase}: {request.url.path}."
    return answer(error.status_code, message, None, headers)


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    logger.error("A request broke", exc_info=error)
    return answer(500, "The server made a mistake.", "The log has the details.")

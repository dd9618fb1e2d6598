"""The built-in prompt runner, with models that answer without a network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from hookline.errors import HooklineError
from hookline.prompting import ModelPrompts
from support import Bench, find_run


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    folder = tmp_path / "vix-hooks" / "judge"
    folder.mkdir(parents=True)
    spec = {"trigger": {"event": "PreToolUse"}, "enabled": True, "mode": "sync", "blocking": True, "prompt": "Judge."}
    (folder / "hook.json").write_text(json.dumps(spec), encoding="utf-8")
    return folder.parent


def answer(text: str, seen: list[str]) -> FunctionModel:
    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        request = messages[-1]
        assert isinstance(request, ModelRequest)
        seen.append("\n".join(str(part.content) for part in request.parts))
        seen.append(info.instructions or "")
        return ModelResponse(parts=[TextPart(text)])

    return FunctionModel(respond)


async def test_a_models_text_decides_as_the_text_of_a_prompt_does(bench: Bench, folders: Path) -> None:
    seen: list[str] = []
    engine = bench.open(vix_hooks=folders, prompts=ModelPrompts(answer("BLOCK: it deletes everything", seen)))
    decision = await engine.fire(bench.event(args={"command": "rm -rf /"}))
    assert (decision.verdict, decision.reason) == ("block", "it deletes everything")
    assert seen[0].startswith("Judge.\n\nHook context:\n")
    assert "rm -rf /" in seen[0]
    assert "BLOCK:" in seen[1]


async def test_the_librarys_test_model_is_put_the_prompt(bench: Bench, folders: Path) -> None:
    engine = bench.open(vix_hooks=folders, prompts=ModelPrompts(TestModel(custom_output_text="fine by me")))
    decision = await engine.fire(bench.event())
    assert decision.is_allowed
    assert find_run(decision, "judge").reply == "fine by me"


async def test_a_model_that_fails_is_a_failure_of_the_hook(bench: Bench, folders: Path) -> None:
    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise RuntimeError("no route to the model")

    engine = bench.open(vix_hooks=folders, prompts=ModelPrompts(FunctionModel(respond)))
    run: Any = find_run(await engine.fire(bench.event()), "judge")
    assert (run.outcome.kind, run.outcome.message) == ("crash", "RuntimeError: no route to the model")


def test_a_model_that_is_not_known_is_refused_at_once() -> None:
    with pytest.raises(HooklineError, match="the model 'nobody:nothing' cannot be used for prompt hooks"):
        ModelPrompts("nobody:nothing")


def test_without_the_extra_the_import_says_what_to_install() -> None:
    program = "import sys; sys.modules['pydantic_ai'] = None; import hookline.prompting"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'hookline[prompts]'" in ended.stderr

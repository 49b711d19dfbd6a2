from __future__ import annotations

import subprocess
import sys

_SERVER = "import sys; import tracklight.server.run; "


def _run(program: str) -> str:
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    return told.stdout.strip()


def test_a_board_does_not_hold_the_command_line_of_its_web_server() -> None:
    assert _run(_SERVER + "print('click' in sys.modules, 'uvicorn.main' in sys.modules)") == (
        "False False"
    )


def test_another_program_in_the_process_has_all_of_the_web_server() -> None:
    asked = (
        "import uvicorn, uvicorn.server; "
        "print(uvicorn.Server is uvicorn.server.Server, callable(uvicorn.run), "
        "callable(uvicorn.main), hasattr(uvicorn, 'nothing'))"
    )
    assert _run(_SERVER + asked) == "True True True False"


def test_a_web_server_that_is_already_there_is_left_alone() -> None:
    asked = "import uvicorn; before = uvicorn.run; "
    assert _run(asked + _SERVER + "print(uvicorn.run is before)") == "True"

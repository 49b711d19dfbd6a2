from __future__ import annotations

from tracklight.util.parsing import (
    extract_jax_line,
    extract_python_line,
    extract_torchscript_line,
)

PYTHON = """
  File "/home/me/train.py", line 3, in <module>
    model(x)
  File "/home/me/net.py", line 12, in forward
    return self.head(x)
  File "/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)
"""
TORCH = """\
/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py(134): forward
C:\\me\\net.py(12): forward
C:\\me\\train.py(3): <module>
"""


def test_returns_innermost_line_of_user() -> None:
    assert extract_python_line(PYTHON) == "net.py:12 in forward"
    assert extract_torchscript_line(TORCH) == "net.py:12 in forward"
    assert (
        extract_jax_line("/home/me/net.py:12:4 (make.<locals>.forward)") == "net.py:12 in forward"
    )


def test_generated_code_is_no_source() -> None:
    generated = 'File "<eval_with_key>.5", line 13, in forward'
    assert extract_python_line(f"{PYTHON}  {generated}\n    cond") == "net.py:12 in forward"


def test_returns_library_line_if_there_is_no_other() -> None:
    model = 'File "/x/site-packages/transformers/bert.py", line 7'
    torch = 'File "/x/site-packages/torch/nn/linear.py", line 134'
    assert extract_python_line(f"{model}\n{torch}") == "bert.py:7"
    assert extract_python_line(torch) == "linear.py:134"


def test_returns_empty_string_without_frames() -> None:
    assert (
        extract_python_line("")
        == extract_torchscript_line("nothing")
        == extract_jax_line("unknown")
        == ""
    )

"""A cluster that asks for Ray's token: whoever has it computes there, and who has not is told what is missing."""

import secrets
import socket
import sys

import pytest

DOCTOR = (sys.executable, "-c", "from awt.commands.main import main; main()", "doctor")


@pytest.fixture
def workspace(fresh):
    made = fresh()
    assert made.stage("prepare").returncode == 0
    made.environment["AWT_EXECUTOR"] = "ray"
    return made


@pytest.fixture
def token(workspace):
    """The token of a head on this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    workspace.environment |= made
    place = ("--node-ip-address", "127.0.0.1", "--port", str(port))
    words = ("start", "--head", "--block", "--num-cpus", "1", "--include-dashboard", "false", *place)
    head = workspace.start(sys.executable, "-m", "ray.scripts.scripts", *words)
    workspace.wait_for(lambda: "Ray runtime started" in (workspace.path / "output").read_text(), head)
    for name in made:
        del workspace.environment[name]
    workspace.environment["RAY_ADDRESS"] = f"127.0.0.1:{port}"
    return made


@pytest.mark.slow
def test_cells_run_for_those_who_have_the_token(workspace, token):
    without = workspace.stage("kernel")
    assert without.returncode == 2, without.stderr
    assert "asks for a token: export RAY_AUTH_MODE=token" in without.stderr
    assert "Traceback" not in without.stderr
    for wrong in ({}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}):
        workspace.environment |= wrong
        told = workspace.command(*DOCTOR)
        assert told.returncode == 2
        assert "asks for a token: export RAY_AUTH_MODE=token" in told.stdout
        assert "Traceback" not in told.stderr

    workspace.environment |= token
    assert workspace.command(*DOCTOR).returncode == 0
    done = workspace.stage("kernel")
    assert done.returncode == 0, done.stderr
    assert workspace.record("kernel")["executor"] == "ray"
    assert token["RAY_AUTH_TOKEN"] not in done.stdout + done.stderr + workspace.logs()

"""The test model server as a process: printed address, log, knobs, script."""

import json
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from skillopt_cli.testing.model_server import Scripted, model_server


def post(url, body, key="k"):
    request = urllib.request.Request(
        f"{url}/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def test_the_module_prints_its_address_serves_and_logs(tmp_path):
    log = tmp_path / "log.jsonl"
    argv = [sys.executable, "-m", "skillopt_cli.testing.model_server", "--log", str(log)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        status, answer = post(url, BODY, key="secret-1")
        with urllib.request.urlopen(f"{url}/models", timeout=10) as models:
            assert json.load(models)["data"]
    finally:
        process.terminate()
        process.communicate()

    assert status == 200
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "ok"}
    assert answer["usage"]["total_tokens"] == 3
    [entry] = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert entry["authorization"] == "Bearer secret-1"
    assert (entry["model"], entry["path"], entry["status"]) == ("m", "/v1/chat/completions", 200)
    assert len(entry["sha256"]) == 64
    assert "body" not in entry


@pytest.mark.parametrize(
    ("options", "status"),
    [({"auth_failure": True}, 401), ({"rate_limit_rate": 1.0}, 429)],
)
def test_the_simulated_faults_become_statuses(options, status):
    with model_server(**options) as server:
        assert post(server.url, BODY)[0] == status
        assert [entry["status"] for entry in server.requests()] == [status]


def test_scripted_steps_come_first_and_the_schema_names_the_contract():
    contract = {"type": "json_schema", "json_schema": {"name": "ranking", "schema": {}}}
    user = "Keep at most 1 edits.\n\n[0] append (support 1)\n[1] append (support 2)"
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": user}],
        "response_format": contract,
    }
    with model_server() as server:
        server.script(Scripted(418, {"error": {"message": "teapot"}}))
        assert post(server.url, body) == (418, {"error": {"message": "teapot"}})
        status, answer = post(server.url, body)
        assert server.bodies() == [body, body]
    assert status == 200
    assert json.loads(answer["choices"][0]["message"]["content"])["selected_indices"] == [1]


def test_a_server_that_cannot_start_says_so(tmp_path):
    with pytest.raises(RuntimeError, match="ended with code"), model_server(tmp_path):
        pass


def test_a_key_and_a_model_can_be_asked_for():
    with model_server(key="right", model="m") as server:
        assert post(server.url, BODY, key="right")[0] == 200
        status, refusal = post(server.url, BODY, key="wrong")
        assert (status, refusal["error"]["type"]) == (401, "AuthFailed")
        status, refusal = post(server.url, BODY | {"model": "other"}, key="right")
        assert (status, refusal["error"]["type"]) == (404, "UnknownModel")
        assert [entry["status"] for entry in server.requests()] == [200, 401, 404]
        with urllib.request.urlopen(f"{server.url}/models", timeout=10) as models:
            assert [entry["id"] for entry in json.load(models)["data"]] == ["m"]

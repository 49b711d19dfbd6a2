"""A small log with data for every dashboard, in which all names are Chinese.

On a page in Chinese, English words are therefore missing translations and not names in the log.
Each kind of data also has a damaged example, whose error message is translated as well.
"""

from __future__ import annotations

import math
import shutil
import time
from pathlib import Path

import numpy as np

import tracklight
from tests.dashboards.mesh.scene import make_part
from tests.index import logs
from tests.web import debugger_log, embedding_log, image_log, mesh_log
from tests.web.event_writer import append_records
from tests.web.fairness_log import TFMA
from tracklight.analysis.profiles.captures import make_capture_id
from tracklight.cli.demo.flowers import encode_capture
from tracklight.cli.demo.writers import BATCH, GraphBuilder
from tracklight.dashboards.workspaces import BoardCard, BoardDocument, BoardSection, DocumentStore
from tracklight.formats import proto, summary
from tracklight.formats.hparams import Status, build_session_end, build_session_start
from tracklight.formats.media import encode_wav
from tracklight.formats.proto import Message
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record

STEPS = range(0, 200, 10)
#: Two runs with a common prefix and one without.
RUNS = ("模型/大", "模型/小", "基线")
TRIALS = 8
SAMPLE_RATE = 8000
#: Captures by run; the first cannot be read, the last is the one that the page shows.
CAPTURES = {
    "损坏": "2024_01_02_03_04_00",
    "优化前": "2024_01_02_03_04_01",
    "优化后": "2024_01_02_03_04_02",
}
#: Evaluation folders of TFMA; the second cannot be read.
VALIDATED_FOLDER, DAMAGED_FOLDER = "验证/完整", "验证/损坏"
BASELINE_CAPTURE = make_capture_id("性能/优化前", "xplane", CAPTURES["优化前"])


def write_chinese_log(logdir: Path) -> None:
    for number, run in enumerate(RUNS):
        append_records(logdir / run, *_make_scalars(number), *_make_media(number))
    append_records(logdir / RUNS[0], *_make_damaged_values())
    for number in range(TRIALS):
        append_records(logdir / "试验" / str(number), *_make_trial(number))
    _write_graph(logdir / RUNS[2])
    _write_embeddings(logdir / "嵌入")
    _write_captures(logdir / "性能")
    debugger_log.write_recording(logdir / "数值/发散", first_bad=12)
    debugger_log.write_recording(logdir / "数值/收敛", first_bad=None)
    debugger_log.write_dump(logdir / "数值/转储", shift=0)
    debugger_log.write_dump(logdir / "数值/损坏", shift=0.1, is_cut=True)
    _write_data(logdir / "人口.csv")
    _write_evaluations(logdir)
    _save_workspace(logdir)


def _save_workspace(logdir: Path) -> None:
    """Save a workspace beside the log, in the data directory of the tests."""
    cards = (
        BoardCard("card1", "scalars", "训练/损失"),
        BoardCard("card2", "scalars", "训练/准确率", runs=(RUNS[0],)),
    )
    sections = (BoardSection("section1", "训练", cards=cards), BoardSection("section2", "其他"))
    document = BoardDocument("board", "workspace", "面板", sections=sections)
    DocumentStore([str(logdir)]).save(document, 0)


def event_record(step: int, *values: Message) -> bytes:
    return encode_record(encode_event(1.7e9 + step, step, values))


def _make_scalars(number: int) -> list[bytes]:
    records = [
        event_record(
            step,
            summary.scalar("训练/损失", (1 + number) * math.exp(-step / 100)),
            summary.scalar("训练/准确率", 1 - math.exp(-step / 100) / 2),
            summary.scalar("下界", number - 0.5),
            summary.scalar("上界", number + 0.5),
        )
        for step in STEPS
    ]
    # A restart overwrites points, and some values are not finite.
    records += [event_record(step, summary.scalar("训练/损失", 2.0)) for step in (100, 110)]
    records += [event_record(step, summary.scalar("奇异", math.nan)) for step in range(3)]
    return [event_record(0, _make_layout()), *records] if number == 0 else records


def _make_layout() -> Message:
    return summary.custom_scalars_layout(
        {
            "质量": [
                summary.MultilineChart("损失", ["训练/损失"]),
                summary.MultilineChart("错误", ["训练/("]),
            ],
            "区间": [
                summary.MarginChart("带", [summary.MarginSeries("训练/准确率", "下界", "上界")]),
                summary.MarginChart("缺失", [summary.MarginSeries("训练/损失", "下界", "无")]),
            ],
        }
    )


def _make_media(number: int) -> list[bytes]:
    rng = np.random.default_rng(number)
    tone = 0.5 * np.sin(np.arange(SAMPLE_RATE) * (0.1 + 0.05 * number))
    labels = rng.random(50) < 0.5
    records = []
    for step in (0, 10, 20):
        picture = image_log.encode_image(image_log.make_digit("conv", step, number))
        scores = np.clip(0.3 * labels + 0.7 * rng.random(50), 0, 1)
        records.append(
            event_record(
                step,
                summary.images("样本/数字", [picture, picture], 8, 8, description="**手写**数字"),
                summary.audio("声音/音调", [encode_wav(tone, SAMPLE_RATE)], ["低音"]),
                summary.text("笔记/说明", f"## 第 {step} 步\n\n损失在**下降**。"),
                summary.text("笔记/表格", [["甲", "乙"], ["丙", "丁"]]),
                summary.histogram("权重/第一层", rng.normal(size=200) * (1 + step)),
                summary.pr_curve("类别/猫", labels, scores, thresholds=11),
                *summary.mesh(
                    "形状/立方体",
                    mesh_log.CUBE[None],
                    mesh_log.TRIANGLES[None],
                    config=mesh_log.UNLIT,
                ),
            )
        )
    return records


def _make_damaged_values() -> list[bytes]:
    """Return values that each dashboard reports as an error."""
    picture = image_log.encode_image(image_log.make_photo("conv", 0))
    nan = math.nan
    return [
        event_record(
            0,
            summary.images("损坏/图像", [picture[:60]], 60, 40),
            summary.audio("损坏/声音", [b"ID3" + bytes(200)]),
            make_part("损坏/网格_VERTEX", np.zeros((1, 4, 1))),
            summary.tensor(
                "损坏/曲线",
                np.zeros((4, 7), np.float32),
                summary.make_metadata("pr_curves", proto.PrCurvePluginData(num_thresholds=7)),
            ),
        ),
        logs.histogram(0, [(nan, nan, 0)] * 3, tag="损坏/直方图"),
    ]


def _make_trial(number: int) -> list[bytes]:
    start = time.time() - 3600 * (number + 1)
    hparams: dict[str, float | str] = {
        "学习率": 10.0 ** -(1 + number % 4),
        "丢弃率": 0.1 * (number % 3),
        "优化器": "动量" if number % 2 else "自适应",
    }
    status = Status.FAILURE if number == 3 else Status.SUCCESS
    accuracy = 0.5 + 0.05 * number
    values = [
        (start, build_session_start(hparams, wall_time=start)),
        (start + 60, summary.scalar("准确率", accuracy)),
        (start + 60, summary.scalar("误差", 1 - accuracy)),
        (start + 120, build_session_end(status, wall_time=start + 120)),
    ]
    return [encode_record(encode_event(wall, 1, [value])) for wall, value in values]


def _write_graph(run: Path) -> None:
    builder = GraphBuilder()
    flow = builder.add("输入", "Placeholder", shape=(BATCH, 32))
    for number in (1, 2):
        weights = builder.add_variable(f"网络/第{number}层/权重", (32, 32))
        product = builder.add(f"网络/第{number}层/乘积", "MatMul", [flow, weights], (BATCH, 32))
        flow = builder.add(f"网络/第{number}层/激活", "Relu", [product], (BATCH, 32))
    builder.add("输出", "Softmax", [flow, "^输入"], (BATCH, 32))
    event = proto.Event(wall_time=1.7e9, step=0)
    event.graph_def = builder.graph().SerializeToString()
    append_records(run, encode_record(event.SerializeToString()))


def _write_embeddings(run: Path) -> None:
    run.mkdir()
    vectors = embedding_log.make_vectors()
    embedding_log.write_vectors(run / "1.tsv", vectors)
    embedding_log.write_vectors(run / "2.tsv", vectors[:5])
    labels = [f"词{row}\t{'东' if row % 2 else '西'}\t{row / 10}" for row in range(len(vectors))]
    (run / "标签.tsv").write_text("\n".join(["词\t侧\t重量", *labels]) + "\n", "utf-8")
    blocks = [
        f'embeddings {{ tensor_name: "{name}" tensor_path: "{path}" metadata_path: "标签.tsv" }}\n'
        for name, path in (("位置", "1.tsv"), ("太少", "2.tsv"))
    ]
    (run / "projector_config.pbtxt").write_text("".join(blocks), "utf-8")


def _write_captures(folder: Path) -> None:
    start = time.time() - 3600
    rng = np.random.default_rng(3)
    contents = {
        "损坏": b"\x0a\xff\xff\xff\x0f",
        "优化前": encode_capture(start, first_step=10, tuned=False, rng=rng),
        "优化后": encode_capture(start + 1800, first_step=10, tuned=True, rng=rng),
    }
    for run, content in contents.items():
        session = folder / run / "plugins" / "profile" / CAPTURES[run]
        session.mkdir(parents=True)
        (session / "主机.xplane.pb").write_bytes(content)


def _write_evaluations(logdir: Path) -> None:
    """Write an evaluation with small, omitted and undefined slices, and folders of TFMA."""
    rows = 2000
    rng = np.random.default_rng(0)
    regions = ("北", "东", "西", "南")
    columns = {
        "性别": rng.choice(["女", "男"], rows),
        "地区": rng.choice(regions, rows, p=[0.6, 0.37, 0.028, 0.002]),
    }
    signal = rng.normal(size=rows)
    noise = np.where(columns["地区"] == "东", 2.0, 0.3) * rng.normal(size=rows)
    scores = 1 / (1 + np.exp(-2 * (signal + noise)))
    scores[:5] = math.nan
    for step in (1, 2):
        tracklight.fairness.evaluate(
            columns,
            label=(signal > 0).astype(int),
            prediction=np.clip(scores + 0.05 * step, 0, 1),
            slices=["性别", "地区"],
            thresholds=[0.25, 0.5, 0.75],
            min_slice_size=10,
        ).write(logdir / "公平", step=step, tag="贷款")
    shutil.copytree(TFMA, logdir / VALIDATED_FOLDER)
    shutil.copytree(TFMA, logdir / DAMAGED_FOLDER)
    for file in (logdir / DAMAGED_FOLDER).glob("metrics*"):
        file.write_bytes(file.read_bytes()[:100])


def _write_data(path: Path) -> None:
    """Write a data set with predictions for What-If."""
    random = np.random.default_rng(0)
    lines = ["年龄,职业,标签,predictions__probabilities"]
    for _ in range(60):
        age, score = random.integers(20, 70), random.random()
        job = random.choice(["厨师", "护士"])
        lines.append(f"{age},{job},{int(score + random.normal() / 4 > 0.5)},{1 - score}|{score}")
    path.write_text("\n".join(lines), encoding="utf-8")

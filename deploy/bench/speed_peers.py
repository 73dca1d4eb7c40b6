"""One run of one peer, without the reading of its data, for speed.py.

usage: speed_peers.py DATA NAME [ARGUMENT ...]

Prints one line of JSON: cpu and wall, the seconds of the work alone, further figures, and the versions of its packages.
DATA is the folder of the data sets, or a file where the peer reads one.
"""

import importlib.metadata
import json
import pathlib
import resource
import sys
import time

DATA = pathlib.Path(sys.argv[1])


class Clock:
    """Processor and wall seconds since it was made; read by done."""

    def __init__(self):
        self.cpu, self.wall = processor(), time.perf_counter()

    def done(self):
        return {"cpu": processor() - self.cpu, "wall": time.perf_counter() - self.wall}


def processor():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def say(figures, *packages):
    figures["memory"] = 1024 * next(int(x.split()[1]) for x in open("/proc/self/status") if x.startswith("VmHWM"))
    figures["versions"] = {p: importlib.metadata.version(p) for p in packages}
    print(json.dumps(figures))


def bank(records):
    """Features and class of the first records of the file DATA, without `duration`."""
    import pandas as pd

    frame = pd.read_csv(DATA, nrows=records).drop(columns="duration")
    return frame.drop(columns="class"), (frame["class"] == "yes").to_numpy()


def log_loss(p, y, skip=1000):
    import numpy as np

    p = np.clip(np.asarray(p, float), 1e-6, 1 - 1e-6)[skip:]
    return float(-np.log(np.where(y[skip:], p, 1 - p)).mean())


def river(name, records):
    """Each record scored before it is learnt; the dictionaries are there before the clock starts."""
    import river_peers

    x, y = bank(int(records))
    rows, truth, p = x.to_dict("records"), [int(v) for v in y], []
    model = river_peers.RIVER[name](2)
    clock = Clock()
    for row, label in zip(rows, truth):
        p.append(model.predict_proba_one(row).get(1, 0.5))
        model.learn_one(row, label)
    figures = clock.done()
    say({**figures, "log_loss": log_loss(p, y), "records": len(y)}, "river")


def texts(records):
    """Writes the records in the text form of Vowpal Wabbit beside DATA; numbers are scaled by the first 1,000."""
    x, y = bank(int(records))
    numeric = [c for c in x if x[c].dtype.kind in "if"]
    mean, sd = x[numeric][:1000].mean(), x[numeric][:1000].std().replace(0, 1)
    with open(DATA.with_suffix(".vw"), "w") as f:
        for values, label in zip(x.itertuples(index=False), y):
            parts = [
                f"{c}={v}".replace(" ", "_") if isinstance(v, str) else f"{c}:{(v - mean[c]) / sd[c]:.6g}"
                for c, v in zip(x.columns, values)
            ]
            f.write(f"{1 if label else -1} | {' '.join(parts)}\n")
    print(json.dumps({"records": len(y)}))


def wabbit(*options):
    """Its own driver over its own text form: parsing is in its time. With `losses` the log-loss, too."""
    import vowpalwabbit

    given = [o for o in options if o != "losses"]
    out = DATA.with_suffix(".predictions")
    command = f"-d {DATA.with_suffix('.vw')} --loss_function logistic --link logistic --quiet " + " ".join(given)
    clock = Clock()
    vowpalwabbit.Workspace(command + (f" -p {out}" if "losses" in options else "")).finish()
    figures = clock.done()
    if "losses" in options:
        import numpy as np

        figures["log_loss"] = log_loss(np.loadtxt(out), bank(None)[1])
    say(figures, "vowpalwabbit")


def arff():
    """Writes the records in the form that MOA reads beside DATA."""
    x, y = bank(None)
    with open(DATA.with_suffix(".arff"), "w") as f:
        f.write("@relation bank\n")
        for c in x:
            levels = ",".join(f"'{v}'" for v in sorted(x[c].unique())) if x[c].dtype.kind not in "if" else ""
            f.write(f"@attribute {c} {'{' + levels + '}' if levels else 'numeric'}\n")
        f.write("@attribute class {no,yes}\n@data\n")
        for values, label in zip(x.itertuples(index=False), y):
            f.write(",".join(f"'{v}'" if isinstance(v, str) else str(v) for v in values))
            f.write(",yes\n" if label else ",no\n")
    print(json.dumps({"records": len(y)}))


def numpy_sets(file):
    import pandas as pd

    import lift

    d = pd.read_csv(file)
    clock = Clock()
    lift.numpy_sets(d)
    say({**clock.done(), "records": len(d)}, "numpy")


def profiles(program, name):
    import lift

    x, y = lift.coded(name)
    if program == "mlxtend":
        run, packages = prepared_rules(x, y), ("mlxtend",)
    elif program == "numpy":
        run, packages = lambda: lift.numpy_profiles(x, y), ("numpy",)
    else:
        _, wall, cpu = lift.pysubgroup_profiles(x, y)  # its clock starts behind its selectors
        say({"cpu": cpu, "wall": wall, "records": len(y)}, "pysubgroup")
        return
    clock = Clock()
    run()
    say({**clock.done(), "records": len(y)}, *packages)


def prepared_rules(x, y):
    """FP-growth over all records, and over those of the class, in which a profile of a lift above 1 is as frequent."""
    import pandas as pd
    from mlxtend.frequent_patterns import fpgrowth

    hot = pd.get_dummies(x.astype(str).mask(x < 0), dtype=bool)

    def run():
        every = fpgrowth(hot, min_support=0.005, max_len=3)
        of = fpgrowth(hot[y], min_support=0.005, max_len=3)
        both = of.merge(every.assign(key=every.itemsets), on="itemsets", suffixes=("", "_all"))
        return (both.support / both.support_all).sort_values(ascending=False)[:100]

    return run


def relief(program):
    import local

    _, x, y = local.bank()
    if program == "fast-select":
        import fast_select

        def fit(rows):
            fast_select.ReliefF(n_features_to_select=5, backend="cpu", n_jobs=1).fit(x[:rows], y[:rows])

        fit(200)  # compiles
    else:
        import skrebate

        def fit(rows):
            skrebate.ReliefF(n_features_to_select=5, n_jobs=1).fit(x[:rows], y[:rows])

    clock = Clock()
    fit(len(x))
    say({**clock.done(), "records": len(y)}, program)


def curve(n):
    """The likelihood's maximum by scikit-learn from the start and within the bounds of BenchmarkFit."""
    import local
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    x, y = local.observations(int(n))
    kernel = ConstantKernel(0.3**2, (0.01**2, 10**2)) * RBF(0.2, (0.01, 10)) + WhiteKernel(0.1**2, (0.002**2, 1))
    clock = Clock()
    GaussianProcessRegressor(kernel, alpha=0, random_state=0).fit(x, y - 0.5)
    say(clock.done(), "scikit-learn")


def programme(name, count, mode):
    """HiGHS given the row generation of model/kernel/lp; the objective is held against that of golden.json."""
    import numpy as np

    import kernel

    here = pathlib.Path(__file__).resolve().parents[2] / "model/kernel/lp/testdata/golden.json"
    instances = json.loads(here.read_text())["instances"]
    o = next(i for i in instances if (i["set"], i["T"], i["mode"]) == (name, int(count), mode))
    x, y = kernel.points(name, o["N"])
    t = kernel.triples(o["seed"], o["N"], int(count), y)
    near, far = x[t[:, 0]] - x[t[:, 1]], x[t[:, 0]] - x[t[:, 2]]
    a = np.hstack(
        [
            (np.exp(-mu * near[:, f] ** 2) - np.exp(-mu * far[:, f] ** 2))[:, None]
            for f in range(o["F"])
            for mu in o["mus"]
        ]
    )
    assert abs(a.sum() - o["sumA"]) < 1e-8 * abs(o["sumA"]), "other triples than those of golden.json"
    group = np.repeat(np.arange(o["F"]), len(o["mus"]))
    wall = time.perf_counter()
    if mode == "ridge":
        got, cpu = kernel.cut(o, a, group, kernel.kernels(o, x))
    else:
        alpha, cpu = kernel.sifted(o, a, group)
        got = kernel.value(o, a, group, alpha)
    assert abs(got - o["upper"]) < 1e-5 * o["upper"], (got, o["upper"])
    say({"cpu": cpu, "wall": time.perf_counter() - wall}, "highspy")


def answered(broker, out):
    """A producer and the function that hands it a value."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker, "compression.type": "lz4", "linger.ms": 5})

    def send(value):
        while True:
            try:
                producer.produce(out, value)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)

    return producer, send


def messages(broker, topic):
    """The values of partition 0 of a topic, from its start to its end as it is now."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker, "group.id": "speed", "enable.auto.commit": False})
    start, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
    consumer.assign([TopicPartition(topic, 0, start)])
    at = start
    while at < end:
        for m in consumer.consume(500, timeout=1):
            if m.error():
                raise RuntimeError(m.error())
            at = m.offset() + 1
            yield m.value()
            if at >= end:
                break
    consumer.close()


def ready(broker, out):
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": broker})  # it lives as long as its answer is waited for
    admin.create_topics([NewTopic(out, 1, 1)])[out].result(60)


def forward(broker, topic, out):
    """Bytes from topic to topic; it looks into them when the clock has stopped, to count the records."""
    import pyarrow as pa

    ready(broker, out)
    producer, send = answered(broker, out)
    seen = []
    clock = Clock()
    for value in messages(broker, topic):
        send(value)
        seen.append(value)
    if producer.flush(300):
        raise RuntimeError("messages were not acknowledged")
    figures = clock.done()
    say({**figures, "records": sum(pa.ipc.open_stream(v).read_all().num_rows for v in seen)}, "confluent-kafka")


def stage(broker, topic, out, records):
    """Decodes, scores and learns by river's logistic regression, and encodes propensities."""
    import pyarrow as pa
    import river_peers

    ready(broker, out)
    producer, send = answered(broker, out)
    model, done = river_peers.RIVER["logistic regression"](2), 0
    clock = Clock()
    for value in messages(broker, topic):
        table = pa.ipc.open_stream(value).read_all()
        p = []
        for row in table.to_pylist():
            label = row.pop("class")
            del row["duration"]
            p.append(model.predict_proba_one(row).get(1, 0.5))
            model.learn_one(row, int(label == "yes"))
        batch = pa.record_batch([pa.array(p)], ["propensity_yes"])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        send(sink.getvalue().to_pybytes())
        done += len(p)
        if done >= int(records):
            break
    if producer.flush(300):
        raise RuntimeError("messages were not acknowledged")
    say({**clock.done(), "records": done}, "confluent-kafka", "pyarrow", "river")


if __name__ == "__main__":
    runs = [river, texts, wabbit, arff, numpy_sets, profiles, relief, curve, programme, forward, stage]
    name, given = sys.argv[2], sys.argv[3:]
    del sys.argv[2:]  # the modules beside this one read the folder alone
    {f.__name__: f for f in runs}[name](*given)

"""Turns bench_dispatch's output into the form of bench/results. usage: dispatch_report.py RAW.json OUT.json DEVICE DRIVER DATE"""
import json
import sys

raw_path, out_path, device, driver, date = sys.argv[1:6]
with open(raw_path) as file:
    raw = json.load(file)
standard = {"name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "repetition_index",
            "threads", "iterations", "real_time", "cpu_time", "time_unit"}
rows = []
for benchmark in raw["benchmarks"]:
    row = {"benchmark": benchmark["name"].split("/iterations")[0]}
    row.update({key: round(value, 2) for key, value in benchmark.items() if key not in standard and isinstance(value, (int, float))})
    rows.append(row)
result = {"device": device, "driver": driver, "date": date,
          "method": "select: 1000 batches of 1000 random shapes; calls: 2000 paired batches of 64, bare and whole alternating, "
                    "f16 softmax 1x1024, medians",
          "rows": rows}
with open(out_path, "w") as file:
    json.dump(result, file, indent=1)
    file.write("\n")

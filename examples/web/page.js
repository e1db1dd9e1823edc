/*
 * Draws what web.c computes. The test runs in slices of a few milliseconds inside
 * requestAnimationFrame: npksd_tester_step does as many items as the page's own clock allows, and
 * any pattern of steps gives the same bits. Moving a slider starts a new test in the next frame.
 *
 * The settings are in the address (#speed=30.4&n=100). The result is also in data attributes of the
 * root element, where test.py reads it.
 */
"use strict";

const BUDGET_MS = 8;      // of 16 per frame: the rest is for drawing and for the browser
const ALPHA = 0.05;
const COORDINATES = [
    { name: "Range", unit: "m", low: 50, high: 85, grain: 5 },
    { name: "Drift", unit: "m", low: -4, high: 8, grain: 2 },
    { name: "Flight time", unit: "s", low: 2.8, high: 4.8, grain: 0.2 },
    { name: "Peak height", unit: "m", low: 10, high: 28, grain: 2 },
];
const COMPONENTS = {
    1: ["STEIN", "the shape or the location of the distribution"],
    2: ["MIRROR", "spread or tails"],
    4: ["MOMENT", "means, variances or covariances"],
    8: ["MMD", "how often values of each kind occur: modes, gaps, limits"],
    16: ["MARGIN", "single columns: means, spread or distribution"],
    32: ["PAIR", "how two columns go together"],
};
const OF_SCORES = 1 | 2 | 4; // components that single rows can explain
const SLIDERS = [
    { id: "speed", label: "Launch speed", min: 28, max: 32, step: 0.1,
        show: (v) => `${v.toFixed(1)} m/s` },
    { id: "scatter", label: "Scatter of the aim", min: 0.5, max: 5, step: 0.1,
        show: (v) => `${v.toFixed(1)}°` },
    { id: "wind", label: "Side wind", min: 0, max: 8, step: 0.2,
        show: (v) => `${v.toFixed(1)} m/s` },
    { id: "heavy", label: "Heavy stones", min: 0, max: 1, step: 0.05,
        show: (v) => `${Math.round(100 * v)} %` },
    { id: "link", label: "Strong pull aims high", min: -0.9, max: 0.9, step: 0.1,
        show: (v) => (v === 0 ? "0" : (v > 0 ? "+" : "−") + Math.abs(v).toFixed(1)) },
    { id: "n", label: "Recorded throws", min: 20, max: 200, step: 10,
        show: (v) => String(v), recording: true },
];
const PRESETS = [
    ["Faithful", {}],
    ["Too fast", { speed: 30.4 }],
    ["Too tidy", { scatter: 1.6 }],
    ["Windy", { wind: 5 }],
    ["Wrong mix", { heavy: 0.6 }],
    ["Link reversed", { link: -0.6 }],
];

const byId = (id) => document.getElementById(id);
const root = document.documentElement;
const settings = { speed: 30.4, n: 100, seed: 55 };
let wasm;            // the exports of the module
let world = {};      // the catapult that was recorded, as web.c has it
let run = null;      // the test under way or done
let dirty = false;   // a slider moved since the last frame
let colours = {};

function numbers(pointer, count) { return new Float64Array(wasm.memory.buffer, pointer, count); }

function text(pointer) {
    const bytes = new Uint8Array(wasm.memory.buffer, pointer);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
}

/* ======== the test, a slice in each frame ======== */

function start() {
    const s = settings;
    const status = wasm.web_start(s.n, s.seed, s.speed, s.scatter, s.wind, s.heavy, s.link);
    run = { n: s.n, items: 4, longest: 0, frames: 0, work: 0, verdict: null };
    document.body.classList.add("computing");
    byId("verdict-word").textContent = "Computing";
    drawThrows();
    if (status < 0)
        fail(status);
}

function fail(status) {
    run.failed = true;
    root.dataset.state = "error";
    byId("verdict-word").textContent = text(wasm.web_status(status));
}

function slice() {
    const begin = performance.now();
    let status, before = begin, now;
    do {
        status = wasm.web_step(run.items);
        now = performance.now();
        // steps of about a millisecond: the overshoot is small on slow and fast machines alike
        run.items = now - before > 1 ? Math.ceil(run.items / 2) : Math.min(64, run.items + 1);
        before = now;
    } while (status === 1 && now - begin < BUDGET_MS);
    run.frames += 1;
    run.work += now - begin;
    run.longest = Math.max(run.longest, now - begin);
    if (status < 0)
        fail(status);
    else if (status === 0)
        finish();
}

function finish() {
    const status = wasm.web_check();
    if (status < 0) {
        fail(status);
        return;
    }
    const v = numbers(wasm.web_verdict(), 11);
    const c = numbers(wasm.web_coordinates(), 16);
    const pairs = numbers(wasm.web_pairs(), 5 * v[10]);
    run.verdict = { statistic: v[0], p: v[1], low: v[2], high: v[3], threshold: v[4],
        reject: v[5], leading: v[6], replicates: v[7],
        distances: [...c.slice(0, 4)], shifts: [...c.slice(4, 8)], adjusted: [...c.slice(8, 12)],
        simulated: [...c.slice(12, 16)], pairs: [...pairs] };
    run.influence = [...numbers(wasm.web_influence(), run.n)];
    showVerdict();
    root.dataset.result = JSON.stringify({ ...settings, ...run.verdict,
        longest: run.longest, frames: run.frames, work: run.work });
    root.dataset.state = "done";
    writeAddress();
}

function frame() {
    if (dirty) {
        dirty = false;
        start();
    }
    if (run && !run.failed && !run.verdict) {
        slice();
        drawNull();
        const percent = 100 * wasm.web_progress();
        byId("bar").firstElementChild.style.width = `${percent}%`;
        byId("bar").setAttribute("aria-valuenow", Math.round(percent));
    }
    if (dirty || (run && !run.failed && !run.verdict))
        requestAnimationFrame(frame);
    else
        frame.asked = false;
}

function restart() {
    dirty = true;
    root.dataset.state = "computing";
    if (!frame.asked) {
        frame.asked = true;
        requestAnimationFrame(frame);
    }
}

/* ======== words ======== */

/* The same sentences as the command line tool's (examples/tool/verdict.c). */
function showVerdict() {
    const v = run.verdict, beyond = Math.round(v.p * (v.replicates + 1)) - 1;
    const [component, words] = COMPONENTS[v.leading];
    document.body.classList.remove("computing");
    document.body.classList.toggle("rejected", v.reject === 1);
    byId("p").textContent = v.p.toFixed(3);
    byId("verdict-word").textContent = v.reject ? "Rejected" : "Not rejected";
    byId("says").textContent = `Of ${v.replicates} data sets of ${run.n} throws, drawn by the `
        + `simulator, ${beyond || "none"} ${beyond <= 1 ? "was" : "were"} as far off. (More data `
        + `sets could move p to between ${v.low.toFixed(3)} and ${v.high.toFixed(3)}.)`;
    byId("where").textContent = v.reject ? where(v) : disagreement(v);
    byId("kind").parentElement.hidden = !v.reject;
    byId("kind").textContent = `the strongest sign is ${words} (component ${component}).`;
    byId("caveat").textContent = v.reject
        ? "Rejected does not mean useless: with enough throws every model is rejected. Are the "
            + "differences large enough to matter?"
        : `Not rejected does not mean right: ${run.n} throws did not show a fault.`;
    byId("timing").textContent =
        `This test: ${Math.round(run.work)} ms of work in ${run.frames} frames, `
        + `the longest slice ${run.longest.toFixed(1)} ms.`;
    showCoordinates();
    drawThrows();
}

function deviation(rows, i) {
    const values = rows.filter((_, at) => at % 4 === i);
    const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
    return Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (values.length - 1));
}

/* Of recorded over simulated throws. */
function spread(i) {
    return deviation(numbers(wasm.web_recorded(), 4 * run.n), i)
        / deviation(numbers(wasm.web_simulated(), 4 * run.n), i);
}

function columnWords(v, i) {
    const shift = v.shifts[i], times = spread(i);
    const mean = Math.abs(shift) < 0.005 ? "mean unchanged"
        : `mean ${shift < 0 ? "lower" : "higher"} by ${Math.abs(shift).toFixed(2)} sd`;
    const wider = Math.abs(Math.log(times)) > Math.max(Math.abs(shift), 0.1)
        ? `, spread ${times.toFixed(2)} times as large` : "";
    return `${COORDINATES[i].name.toLowerCase()} (${mean}${wider}, `
        + `distance ${v.distances[i].toFixed(2)})`;
}

function pairWords([i, j, recorded, expected]) {
    return `${COORDINATES[i].name.toLowerCase()} and ${COORDINATES[j].name.toLowerCase()} `
        + `(correlation ${recorded.toFixed(2)}, the simulator's ${expected.toFixed(2)})`;
}

/* Columns at or below the level after adjustment, those that differ most first. Those that are
   marked but hardly changed by themselves are named apart; if no marked column has changed by
   itself, the dependence has. */
function differing(v) {
    const order = [0, 1, 2, 3].sort((a, b) =>
        v.adjusted[a] - v.adjusted[b] || v.distances[b] - v.distances[a]);
    const marked = order.filter((i) => v.adjusted[i] <= ALPHA);
    const changed = marked.filter((i) => v.distances[i] >= 1.358 / Math.sqrt(run.n)
        || Math.abs(Math.log(spread(i))) > Math.log(1.5));
    const columns = changed.length ? changed : marked;
    const pairs = [];
    for (let k = 0; k < v.pairs.length && v.pairs[k + 4] <= ALPHA; k += 5)
        pairs.push(v.pairs.slice(k, k + 4));
    return { columns, pairs, related: marked.filter((i) => !columns.includes(i)),
        nearest: order[0] };
}

function where(v) {
    const { columns, pairs, related, nearest } = differing(v), parts = [];
    if (columns.length)
        parts.push((columns.length > 1 ? "columns " : "column ")
            + columns.map((i) => columnWords(v, i)).join(", "));
    if (pairs.length)
        parts.push((pairs.length > 1 ? "the pairs " : "the pair ")
            + pairs.slice(0, 3).map(pairWords).join(", ") + (pairs.length > 3 ? " and more" : ""));
    if (!parts.length)
        parts.push("no single column or pair stands out; nearest to it: column "
            + columnWords(v, nearest));
    const also = related.length ? ` Marked with ${columns.length > 1 ? "them" : "it"}, but hardly `
        + `changed by ${related.length > 1 ? "themselves" : "itself"}: `
        + `${related.map((i) => COORDINATES[i].name.toLowerCase()).join(", ")}.` : "";
    return `${parts.join("; ")}.${also}`;
}

/* The test of everything and the tests of columns and pairs may disagree. */
function disagreement(v) {
    const { columns, pairs } = differing(v);
    const what = columns.length ? `column ${columnWords(v, columns[0])}`
        : pairs.length ? `the pair ${pairWords(pairs[0])}` : "";
    return what ? `${what} stands out by itself, although all columns together are not rejected. `
        + "These are two tests: go by the one that you chose beforehand."
        : "no column and no pair of columns stands out.";
}

function showCoordinates() {
    const v = run.verdict;
    const largest = Math.max(...v.distances, ...v.simulated);
    byId("coordinates").replaceChildren(...COORDINATES.map((coordinate, i) => {
        const row = document.createElement("div");
        const p = v.adjusted[i];
        row.className = p <= ALPHA ? "coordinate lit" : "coordinate";
        row.innerHTML = '<span class="name"></span><span class="bars" role="img"><span></span>'
            + '<span></span></span><span class="adjusted"></span>';
        row.children[0].textContent = coordinate.name;
        row.children[1].children[0].style.width = `${100 * v.distances[i] / largest}%`;
        row.children[1].children[1].style.width = `${100 * v.simulated[i] / largest}%`;
        row.children[1].setAttribute("aria-label", `recording ${v.distances[i].toFixed(2)}, `
            + `simulated throws ${v.simulated[i].toFixed(2)}`);
        row.children[2].innerHTML = `<i>p</i> ${p.toFixed(3)}`;
        return row;
    }));
}

/* ======== pictures ======== */

/* A canvas in its own pixels, cleared; w and h are in CSS pixels. */
function canvas(id) {
    const element = byId(id), ratio = window.devicePixelRatio || 1;
    const w = element.clientWidth, h = element.clientHeight;
    const width = Math.round(w * ratio), height = Math.round(h * ratio);
    if (element.width !== width || element.height !== height) {
        element.width = width;
        element.height = height;
    }
    const g = element.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    g.font = `11px ${colours.sans}`;
    g.lineWidth = 1;
    return { g, w, h, element };
}

function readColours() {
    const style = getComputedStyle(root);
    for (const name of ["ink", "muted", "rule", "recorded", "simulated", "null", "alarm", "sans"])
        colours[name] = style.getPropertyValue(`--${name}`).trim();
}

function ticks(low, high, room) {
    const rough = (high - low) / Math.max(2, room);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
    const out = [];
    for (let k = Math.ceil(low / step); k * step <= high + 1e-9; k++)
        out.push(k * step);
    return out;
}

/* Axes with a few ticks; returns the maps from values to pixels. */
function axes({ g, w, h }, xRange, yRange, unitX, unitY) {
    const left = 34, right = 8, top = 10, bottom = 20;
    const x = (v) => left + (v - xRange[0]) / (xRange[1] - xRange[0]) * (w - left - right);
    const y = (v) => h - bottom - (v - yRange[0]) / (yRange[1] - yRange[0]) * (h - top - bottom);
    g.strokeStyle = colours.rule;
    g.fillStyle = colours.muted;
    const xs = ticks(...xRange, w / 45), ys = ticks(...yRange, h / 40);
    const label = (all, i, unit) => +all[i].toFixed(6) + (i === all.length - 1 ? ` ${unit}` : "");
    xs.forEach((v, i) => {
        const last = i === xs.length - 1 && x(v) > w - 24; // with its unit it would not fit
        g.textAlign = last ? "right" : "center";
        g.fillText(label(xs, i, unitX), last ? w - 1 : x(v), h - 5);
    });
    g.textAlign = "right";
    ys.forEach((v, i) => {
        g.fillText(label(ys, i, unitY), left - 6, y(v) + 4);
        g.beginPath();
        g.moveTo(left, Math.round(y(v)) + 0.5);
        g.lineTo(w - right, Math.round(y(v)) + 0.5);
        g.stroke();
    });
    return { x, y };
}

/* Simulated throws are open rings under the filled dots of the recorded ones, so that the two can be
   told apart without colour. */
function dots(g, rows, x, y, i, j, filled) {
    const radius = filled ? 2.4 : 2.9;
    g.globalAlpha = filled ? 0.8 : 0.9;
    g.fillStyle = g.strokeStyle = filled ? colours.recorded : colours.simulated;
    g.lineWidth = 1.2;
    for (let k = 0; k < rows.length; k += 4) {
        g.beginPath();
        g.arc(x(rows[k + i]), y(rows[k + j]), radius, 0, 2 * Math.PI);
        if (filled)
            g.fill();
        else
            g.stroke();
    }
    g.globalAlpha = 1;
    g.lineWidth = 1;
}

/* The rows that contribute most to the Stein statistic, if the verdict is a rejection and a component
   of the scores leads: they explain no other component. */
function loudest() {
    if (!run.verdict || !run.verdict.reject || !(run.verdict.leading & OF_SCORES))
        return [];
    const order = run.influence.map((value, row) => [value, row]).sort((a, b) => b[0] - a[0]);
    return order.slice(0, 5).map((pair) => pair[1]);
}

/* The usual range of a coordinate, so that the picture does not jump while a slider moves, extended
   to fit all points. */
function range(i, ...sets) {
    let { low, high, grain } = COORDINATES[i];
    for (const rows of sets) {
        for (let k = i; k < rows.length; k += 4) {
            low = Math.min(low, Math.floor(rows[k] / grain) * grain);
            high = Math.max(high, Math.ceil(rows[k] / grain) * grain);
        }
    }
    return [low, high];
}

function drawScatter(id, i, j, recorded, simulated, ringed) {
    const c = canvas(id), a = COORDINATES[i], b = COORDINATES[j];
    const { x, y } = axes(c, range(i, recorded, simulated), range(j, recorded, simulated),
        a.unit, b.unit);
    dots(c.g, simulated, x, y, i, j, false);
    dots(c.g, recorded, x, y, i, j, true);
    c.g.strokeStyle = colours.ink;
    for (const row of ringed) {
        c.g.beginPath();
        c.g.arc(x(recorded[4 * row + i]), y(recorded[4 * row + j]), 5.5, 0, 2 * Math.PI);
        c.g.stroke();
    }
    const mean = (rows, k) =>
        (rows.filter((_, at) => at % 4 === k).reduce((sum, v) => sum + v, 0) / run.n).toFixed(1);
    c.element.setAttribute("aria-label", `${a.name} and ${b.name.toLowerCase()} of ${run.n} `
        + `recorded and ${run.n} simulated throws. Means: recorded ${mean(recorded, i)} ${a.unit}, `
        + `${mean(recorded, j)} ${b.unit}; simulated ${mean(simulated, i)} ${a.unit}, `
        + `${mean(simulated, j)} ${b.unit}.`);
}

function drawThrows() {
    const recorded = numbers(wasm.web_recorded(), 4 * run.n);
    const simulated = numbers(wasm.web_simulated(), 4 * run.n);
    const ringed = loudest();
    drawSide(recorded, simulated);
    drawScatter("above", 0, 1, recorded, simulated, ringed);
    drawScatter("watch", 2, 3, recorded, simulated, ringed);
    byId("ringed").textContent = ringed.length
        ? "Circled: the five recorded throws that contribute most." : "";
}

/* Only range and height were recorded: each path is a sketch, a curve with that peak and end. */
function drawSide(recorded, simulated) {
    const c = canvas("side"), g = c.g;
    const { x, y } = axes(c, [0, 90], [0, range(3, recorded, simulated)[1]], "m", "m");
    for (const [rows, colour] of [[simulated, colours.simulated], [recorded, colours.recorded]]) {
        g.strokeStyle = g.fillStyle = colour;
        g.globalAlpha = Math.min(0.5, 16 / run.n);
        for (let k = 0; k < rows.length; k += 4) {
            const d = rows[k], h = 4 / 3 * rows[k + 3];
            g.beginPath();
            g.moveTo(x(0), y(1.5));
            g.bezierCurveTo(x(0.38 * d), y(h), x(0.74 * d), y(h), x(d), y(0));
            g.stroke();
        }
        g.globalAlpha = 0.8;
        // a stroke where it hit the ground: recorded above, simulated below
        for (let k = 0; k < rows.length; k += 4)
            g.fillRect(x(rows[k]) - 0.6, rows === recorded ? y(0) - 6 : y(0) + 1, 1.2, 5);
        g.globalAlpha = 1;
    }
}

function drawNull() {
    const count = wasm.web_null_count(), values = numbers(wasm.web_null(), count);
    // until there is a first value the histogram of the last test stays, dimmed
    document.body.classList.toggle("waiting", count === 0);
    if (count === 0 && drawNull.drawn)
        return;
    drawNull.drawn = true;
    const c = canvas("null"), { g, w, h } = c;
    const v = run.verdict, left = 2, right = 8, top = 34, bottom = 20;
    const reach = Math.max(5, Math.min(8, Math.max(...values, 0)));
    const far = v && v.statistic < 1.4 * reach ? Math.max(reach, v.statistic) : reach;
    const width = 0.2, binCount = Math.ceil(far * 1.04 / width);
    const bins = new Array(binCount).fill(0), beyond = new Array(binCount).fill(0);
    for (const value of values) {
        const bin = Math.max(0, Math.min(binCount - 1, Math.floor(value / width)));
        bins[bin] += 1;
        beyond[bin] += v && value >= v.statistic ? 1 : 0;
    }
    const tallest = Math.max(60, ...bins);
    const x = (value) => left + value / (binCount * width) * (w - left - right);
    const y = (value) => h - bottom - value / tallest * (h - top - bottom);
    const bar = (k, from, to) =>
        g.fillRect(x(k * width), y(to), x(width) - x(0) - 1, y(from) - y(to));
    bins.forEach((many, k) => {
        g.fillStyle = colours.null;
        bar(k, beyond[k], many);
        g.fillStyle = v && v.reject ? colours.alarm : colours.recorded;
        bar(k, 0, beyond[k]);
    });
    g.strokeStyle = colours.muted;
    g.beginPath();
    g.moveTo(left, h - bottom + 0.5);
    g.lineTo(w - right, h - bottom + 0.5);
    g.stroke();
    g.fillStyle = colours.muted;
    for (const value of ticks(0, binCount * width, w / 60)) {
        g.textAlign = value === 0 ? "left" : "center";
        g.fillText(String(value), x(value), h - 5);
    }
    if (v)
        markNull(c, x, y, v, binCount * width, h - bottom);
    byId("null-note").textContent = v
        ? `Grey: the statistic of ${count} data sets drawn by the simulator. Coloured: those at least `
            + "as far off as the recording."
        : "Grey: the statistic of data sets drawn by the simulator, each as long as the recording.";
    c.element.setAttribute("aria-label", v
        ? `Histogram of ${count} null values. Observed statistic ${v.statistic.toFixed(2)}, `
            + `threshold ${v.threshold.toFixed(2)}.` : "Histogram of null values, growing");
}

/* The two lines that decide: the threshold and the observed statistic, which may be off the chart. */
function markNull({ g, w }, x, y, v, end, ground) {
    const line = (at, from, colour, dash, thickness) => {
        g.strokeStyle = colour;
        g.lineWidth = thickness;
        g.setLineDash(dash);
        g.beginPath();
        g.moveTo(at, from);
        g.lineTo(at, ground);
        g.stroke();
        g.setLineDash([]);
    };
    const label = (words, at, height, colour) => {
        const room = g.measureText(words).width + 6;
        g.fillStyle = colour;
        g.textAlign = at + room > w ? "right" : "left";
        g.fillText(words, g.textAlign === "right" ? at - 5 : at + 5, height);
    };
    const colour = v.reject ? colours.alarm : colours.recorded;
    const outside = v.statistic > end, at = outside ? w - 3 : x(v.statistic);
    const limit = x(Math.min(v.threshold, end));
    line(limit, 18, colours.muted, [3, 3], 1);
    label(`5 % threshold ${v.threshold.toFixed(2)}`, limit, 26, colours.muted);
    line(at, 2, colour, [], 2);
    g.font = `600 11px ${colours.sans}`;
    label(`recorded: ${v.statistic.toFixed(2)}${outside ? " →" : ""}`, at, 10, colour);
}

/* ======== controls ======== */

function buildSliders() {
    for (const slider of SLIDERS) {
        const box = document.createElement("div");
        box.className = "slider";
        box.innerHTML = '<label><span></span><output></output></label>'
            + '<div class="track"><input type="range"></div>';
        const input = box.querySelector("input"), label = box.querySelector("label");
        label.firstElementChild.textContent = slider.label;
        label.htmlFor = input.id = slider.id;
        box.querySelector("output").htmlFor = slider.id;
        Object.assign(input, { min: slider.min, max: slider.max, step: slider.step });
        if (!slider.recording) {
            const tick = document.createElement("span");
            const share = (world[slider.id] - slider.min) / (slider.max - slider.min);
            tick.className = "tick";
            tick.style.left = `calc(8px + ${share} * (100% - 16px))`; // half a thumb at either end
            box.querySelector(".track").append(tick);
        }
        input.addEventListener("input", () => {
            settings[slider.id] = Number(input.value);
            showSettings();
            restart();
        });
        byId(slider.recording ? "recording" : "sliders").append(box);
    }
    for (const [name, change] of PRESETS) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = name;
        button.addEventListener("click", () => {
            Object.assign(settings, world, change);
            showSettings();
            restart();
        });
        byId("presets").append(button);
    }
    byId("again").addEventListener("click", () => {
        settings.seed = (settings.seed + 1) >>> 0;
        restart();
    });
}

function showSettings() {
    for (const slider of SLIDERS) {
        const input = byId(slider.id);
        input.value = settings[slider.id];
        const words = slider.show(settings[slider.id]);
        input.setAttribute("aria-valuetext", words);
        input.closest(".slider").querySelector("output").textContent = words;
    }
    PRESETS.forEach(([, change], i) => {
        const wanted = { ...world, ...change };
        const same = Object.keys(world).every((key) => wanted[key] === settings[key]);
        byId("presets").children[i].setAttribute("aria-pressed", same);
    });
}

/* Values in the address that are outside a slider's range are ignored. */
function readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const slider of SLIDERS) {
        const value = Number(given.get(slider.id) ?? NaN);
        if (value >= slider.min && value <= slider.max)
            settings[slider.id] = slider.id === "n" ? Math.round(value) : value;
    }
    if (/^\d{1,9}$/.test(given.get("seed") ?? ""))
        settings.seed = Number(given.get("seed"));
}

function writeAddress() {
    try { // some browsers forbid it for pages opened from a file
        history.replaceState(null, "", `#${new URLSearchParams(settings)}`);
    } catch (error) { /* the page works without */ }
}

function redraw() {
    readColours();
    if (run) {
        drawThrows();
        drawNull();
    }
}

async function main() {
    const bytes = Uint8Array.from(atob(NPKSD_WASM), (letter) => letter.charCodeAt(0));
    wasm = (await WebAssembly.instantiate(bytes)).instance.exports;
    const values = numbers(wasm.web_world_values(), 5);
    SLIDERS.filter((slider) => !slider.recording).forEach((slider, i) => {
        world[slider.id] = values[i];
    });
    Object.assign(settings, { ...world, ...settings });
    readAddress();
    readColours();
    buildSliders();
    showSettings();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    window.addEventListener("resize", redraw);
    window.addEventListener("hashchange", () => {
        readAddress();
        showSettings();
        restart();
    });
    restart();
}

main().catch((error) => {
    root.dataset.state = "error";
    byId("verdict-word").textContent = `Cannot run here: ${error.message}`;
});

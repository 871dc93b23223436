// Charts: <score-chart data-option="..."> draws an ECharts option that the server made.
//
// The drawing is in a shadow tree, so that exchanging a part of the page compares what the server
// sent. Colours are names of custom properties of the style sheet, light or dark.

const dark = matchMedia("(prefers-color-scheme: dark)");
const LINES = 3; // lines of a legend; a longer one scrolls
const LINE = 20; // height of a line in pixels
const SIGN = 40; // width of a sign with the gaps around it in pixels
const pen = new OffscreenCanvas(1, 1).getContext("2d");

// The words of each point that the pointer is near, made by the server.
function tooltip(points) {
  const found = [points].flat().filter((point) => point.data?.words);
  return [...new Set(found.map((point) => point.data.words))].join("\n");
}

// The number of lines that the legend takes at a width.
function legendLines(option, width) {
  pen.font = "12px system-ui, sans-serif";
  let lines = 1;
  let used = 0;
  for (const name of new Set(option.series.map((series) => series.name))) {
    const wide = SIGN + pen.measureText(name).width;
    if (used && used + wide > width) {
      lines += 1;
      used = 0;
    }
    used += wide;
  }
  return lines;
}

class ScoreChart extends HTMLElement {
  connectedCallback() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const place = document.createElement("div");
    place.style.height = "100%";
    root.replaceChildren(place);
    this.resized = new ResizeObserver(() => this.draw(place));
    this.resized.observe(this);
    this.redraw = () => this.draw(place, true);
    dark.addEventListener("change", this.redraw);
  }

  disconnectedCallback() {
    this.resized.disconnect();
    dark.removeEventListener("change", this.redraw);
    this.chart?.dispose();
    this.chart = null;
    this.lines = 0;
  }

  draw(place, fresh = false) {
    if (!this.clientWidth) return;
    if (this.chart && !fresh) this.chart.resize();
    this.chart ??= echarts.init(place, null, { renderer: "svg" });
    const colours = getComputedStyle(this);
    const option = JSON.parse(this.dataset.option, (_, value) =>
      typeof value === "string" && value.startsWith("--") ? colours.getPropertyValue(value).trim() : value,
    );
    const lines = option.legend ? legendLines(option, this.clientWidth) : 1;
    if (!fresh && lines === this.lines) return;
    this.lines = lines;
    if (1 < lines && lines <= LINES) {
      option.legend.type = "plain";
      option.grid.top += (lines - 1) * LINE;
    }
    // Drawn as text: HTML of the library would need inline styles, which the page's policy forbids.
    Object.assign(option.tooltip, { renderMode: "richText", confine: true, formatter: tooltip });
    this.chart.setOption(option, true);
    this.chart.off("click");
    this.chart.on("click", ({ data }) => data?.url && location.assign(data.url));
  }
}

customElements.define("score-chart", ScoreChart);

// Charts: <score-chart data-option="..."> draws an ECharts option that the server made.
//
// The drawing is in a shadow tree, so that exchanging a part of the page compares what the server
// sent. Colours are names of custom properties of the style sheet, light or dark.

const dark = matchMedia("(prefers-color-scheme: dark)");

// The words of each point that the pointer is near, made by the server.
function tooltip(points) {
  const found = [points].flat().filter((point) => point.data?.words);
  return [...new Set(found.map((point) => point.data.words))].join("\n");
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
  }

  draw(place, fresh = false) {
    if (!this.clientWidth) return;
    if (this.chart && !fresh) return this.chart.resize();
    this.chart ??= echarts.init(place, null, { renderer: "svg" });
    const colours = getComputedStyle(this);
    const option = JSON.parse(this.dataset.option, (_, value) =>
      typeof value === "string" && value.startsWith("--") ? colours.getPropertyValue(value).trim() : value,
    );
    // Drawn as text: HTML of the library would need inline styles, which the page's policy forbids.
    Object.assign(option.tooltip, { renderMode: "richText", confine: true, formatter: tooltip });
    this.chart.setOption(option, true);
    this.chart.off("click");
    this.chart.on("click", ({ data }) => data?.url && location.assign(data.url));
  }
}

customElements.define("score-chart", ScoreChart);

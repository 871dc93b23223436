// Live updates; the page also works without this script.
//
// When the server announces a change, the script fetches the page and replaces the parts that
// differ. Typed text, opened sections, focus and scroll positions stay.

const PAUSE = 250; // milliseconds between two fetches
const RETRY = 3000; // milliseconds between two attempts to reach a server that does not answer
const SILENCE = 40000; // milliseconds without an event, after which a stream counts as lost
const LONGEST = 20000; // timeout of a fetch in milliseconds
const NO_ANSWER = "Connection lost. The server of this page does not answer; once it is back, the page updates itself or asks for a new link.";
const LOCKED = "The server was started again. Open the new link that `skillopt webui` printed; this page then updates itself.";
const body = document.body;
let source = null;
let silence = 0;
let fetching = false;
let again = false;
let updated = new Date();

// Hidden pages close their stream: a browser has few connections to one server, and background tabs
// would occupy all of them.
function follow() {
  const news = body.dataset.news;
  if (!news || document.hidden) {
    leave();
  } else if (!source) {
    const address = new URL(news, location.href);
    address.searchParams.set("from", body.dataset.version);
    source = new EventSource(address);
    source.addEventListener("changed", refresh);
    for (const kind of ["open", "changed", "alive"]) source.addEventListener(kind, received);
    source.addEventListener("error", reconnect);
    received();
  }
}

function leave() {
  clearTimeout(silence);
  source?.close();
  source = null;
}

function received() {
  updated = new Date();
  clearTimeout(silence);
  silence = setTimeout(reconnect, SILENCE);
}

function reconnect() {
  leave();
  refresh();
}

// A hidden page may have missed a change, and a run without a process sends no events.
function catchUp() {
  if ("news" in body.dataset || "still" in body.dataset) refresh();
}

async function refresh() {
  again = true;
  if (fetching) return;
  fetching = true;
  while (again) {
    again = false;
    const fault = await update();
    showLost(fault);
    again ||= fault !== "" && !document.hidden;
    await new Promise((done) => setTimeout(done, fault ? RETRY : PAUSE));
  }
  fetching = false;
}

// Fetch the page and replace the changed parts. Returns the error, or "".
async function update() {
  try {
    const signal = AbortSignal.timeout(LONGEST);
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, signal });
    // The page of a server with another token is no news of this one.
    if (answer.status === 401) return LOCKED;
    const text = await answer.text();
    if (!(answer.headers.get("content-type") ?? "").startsWith("text/html")) return `Connection lost. The server of this page answers: ${text.trim()}`;
    updated = new Date();
    const parsed = new DOMParser().parseFromString(text, "text/html");
    if (answer.ok) {
      addScripts(parsed);
      exchange(parsed);
      dropMessage(parsed);
    } else put(document.querySelector("main"), parsed.querySelector("main"));
    for (const key of ["news", "version", "still"]) {
      if (key in parsed.body.dataset) body.dataset[key] = parsed.body.dataset[key];
      else delete body.dataset[key];
    }
    // An error page is fetched again when the window gets the focus.
    if (!answer.ok) body.dataset.still = "";
    follow();
    return "";
  } catch {
    return NO_ANSWER;
  }
}

function showLost(fault) {
  const place = document.getElementById("lost");
  document.body.classList.toggle("lost", fault !== "");
  const then = fault && `${fault} The content below is from ${updated.toTimeString().slice(0, 8)}.`;
  if (place.textContent !== then) place.textContent = then;
}

// The scripts of charts, which a run has only once its baseline is measured.
function addScripts(parsed) {
  const known = new Set([...document.scripts].map((script) => script.src));
  for (const { src, type } of parsed.querySelectorAll("head script[src]")) {
    if (known.has(src)) continue;
    // Not `async`: the scripts then run in their order.
    document.head.append(Object.assign(document.createElement("script"), { async: false, src, type }));
  }
}

function exchange(parsed) {
  if (partsOf(parsed) !== partsOf(document)) {
    const main = document.querySelector("main");
    if (!isUsed(main)) put(main, parsed.querySelector("main"));
    return;
  }
  for (const old of document.querySelectorAll("[data-part]")) {
    const now = parsed.getElementById(old.id);
    if (old.innerHTML !== now.innerHTML && !isUsed(old)) put(old, now);
  }
}

function partsOf(page) {
  return [...page.querySelectorAll("[data-part]")].map((part) => part.id).join(" ");
}

// A part with typed or selected input is not replaced until the input is gone; ticks are kept.
function isUsed(part) {
  const inputs = [...part.querySelectorAll("input, textarea, select")];
  return inputs.some((input) => input.type !== "checkbox" && (isTyped(input) || input === document.activeElement));
}

function isTyped(input) {
  if (input.tagName === "SELECT") return [...input.options].some((one) => one.selected !== one.defaultSelected) && input.selectedIndex > 0;
  return input.type !== "hidden" && input.value !== input.defaultValue;
}

function put(old, now) {
  const ticked = new Set([...old.querySelectorAll("input:checked")].map((one) => one.value));
  const opened = new Set([...old.querySelectorAll("details[open][id]")].map((one) => one.id));
  const focused = old.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  const scrolled = [...old.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  old.replaceChildren(...[...now.childNodes].map((node) => document.importNode(node, true)));
  for (const one of old.querySelectorAll("input[type=checkbox]")) one.checked = ticked.has(one.value);
  for (const one of old.querySelectorAll("details[id]")) one.open ||= opened.has(one.id);
  old.querySelectorAll(".scroll").forEach((one, i) => (one.scrollLeft = scrolled[i] ?? 0));
  if (focused) [...old.querySelectorAll("a, button, summary, [tabindex]")].find((one) => keyOf(one) === focused)?.focus();
}

function keyOf(element) {
  if (element.id) return element.id;
  return `${element.tagName} ${element.getAttribute("href") ?? ""} ${element.textContent.trim().slice(0, 80)}`;
}

// Searching, filtering and sorting change the address, and the page follows it.
function list(form) {
  const asked = [...new FormData(form)].filter(([, value]) => value);
  history.replaceState(null, "", `${form.action}?${new URLSearchParams(asked)}`);
  refresh();
}

function search(event) {
  const form = event.target.closest("form[data-listing]");
  if (form) list(form);
}

function sort(event) {
  const link = event.target.closest("th[aria-sort] a");
  const form = document.querySelector("form[data-listing]");
  if (!link || !form || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  form.elements.sort.value = new URL(link.href).searchParams.get("sort") ?? "";
  list(form);
}

// A confirmation goes once the server no longer has it; an error stays beside the typed input.
function dropMessage(parsed) {
  const place = document.getElementById("message");
  if (place?.querySelector(".good") && !parsed.querySelector("#message .good")) place.replaceChildren();
}

// A command form is submitted without leaving the page.
async function submit(event) {
  if (event.target.closest("form[data-listing]")) {
    event.preventDefault();
    list(event.target);
    return;
  }
  const form = event.target.closest("form[data-quiet]");
  if (!form) return;
  event.preventDefault();
  if (form.ariaBusy) return;
  form.ariaBusy = "true";
  try {
    const entries = new URLSearchParams(new FormData(form, event.submitter));
    const answer = await fetch(form.action, { method: "POST", body: entries });
    if (answer.status === 401) {
      showMessage([`${LOCKED} Your input is still here.`]);
      reconnect();
      return;
    }
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.ok) {
      // The address names the flash message, as for a browser without scripts.
      history.replaceState(null, "", answer.url);
      form.reset();
    }
    exchange(parsed);
    // Shown in any case, also where typed input prevents the exchange of a part.
    showMessage(parsed.getElementById("message")?.childNodes ?? ["That did not work: load this page again."]);
  } catch {
    showMessage(["The server of this page does not answer. Your input is still here."]);
    reconnect();
  } finally {
    form.ariaBusy = null;
  }
}

function showMessage(content) {
  const place = document.getElementById("message");
  place.replaceChildren(...[...content].map((one) => (one.nodeType ? document.importNode(one, true) : one)));
  place.focus();
}

// An error that has the focus is in view also once the charts above it have their height.
function showFocused() {
  const place = document.activeElement;
  if (place?.autofocus) place.scrollIntoView({ block: "center" });
}

document.addEventListener("submit", submit);
addEventListener("load", showFocused);
document.addEventListener("input", search);
document.addEventListener("click", sort);
addEventListener("focus", () => "still" in body.dataset && catchUp());
document.addEventListener("visibilitychange", () => (document.hidden ? leave() : catchUp()));
addEventListener("pagehide", leave);
addEventListener("pageshow", (event) => event.persisted && catchUp());
follow();

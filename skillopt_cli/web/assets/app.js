// The page works without this file; with it, open pages follow their run.
//
// The server says that there is something new, the page is fetched anew, and the parts that differ
// are put in place of the old ones. What a person typed, opened or looks at stays.

const PAUSE = 700; // milliseconds between two fetches
const RETRY = 3000; // between two tries to reach a server that does not answer
const SILENCE = 40000; // without a word, after which a stream is taken for dead
const LONGEST = 20000; // for a page to come
const body = document.body;
let source = null;
let silence = 0;
let fetching = false;
let again = false;
let heard = new Date();

// A page that nobody looks at follows nothing: a browser has few lines to one server, and pages in
// the back would take all of them.
function follow() {
  const news = body.dataset.news;
  if (!news || document.hidden) {
    leave();
  } else if (!source) {
    const address = new URL(news, location.href);
    address.searchParams.set("from", body.dataset.version);
    source = new EventSource(address);
    source.addEventListener("changed", refresh);
    for (const sign of ["open", "changed", "alive"]) source.addEventListener(sign, hear);
    source.addEventListener("error", reach);
    hear();
  }
}

function leave() {
  clearTimeout(silence);
  source?.close();
  source = null;
}

function hear() {
  heard = new Date();
  clearTimeout(silence);
  silence = setTimeout(reach, SILENCE);
}

function reach() {
  leave();
  refresh();
}

// A page in the back may have missed something, and a run that nobody works on sends no news.
function comeBack() {
  if ("news" in body.dataset || "still" in body.dataset) refresh();
}

async function refresh() {
  again = true;
  if (fetching) return;
  fetching = true;
  while (again) {
    again = false;
    const fault = await taken();
    tellLost(fault);
    again ||= fault !== "" && !document.hidden;
    await new Promise((done) => setTimeout(done, fault ? RETRY : PAUSE));
  }
  fetching = false;
}

// Fetch the page and put what is new in place. Returns why that was not possible.
async function taken() {
  try {
    const signal = AbortSignal.timeout(LONGEST);
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, signal });
    const text = await answer.text();
    if (!(answer.headers.get("content-type") ?? "").startsWith("text/html")) return `The server of this page says: ${text.trim()}`;
    heard = new Date();
    const parsed = new DOMParser().parseFromString(text, "text/html");
    if (answer.ok) exchange(parsed);
    else put(document.querySelector("main"), parsed.querySelector("main"));
    for (const key of ["news", "version", "still"]) {
      if (key in parsed.body.dataset) body.dataset[key] = parsed.body.dataset[key];
      else delete body.dataset[key];
    }
    // What is wrong with it may be mended when somebody looks again.
    if (!answer.ok) body.dataset.still = "";
    follow();
    return "";
  } catch {
    return "The server of this page does not answer.";
  }
}

function tellLost(fault) {
  const place = document.getElementById("lost");
  const then = fault && `${fault} All below is as it was at ${heard.toLocaleTimeString()}; the page goes on by itself once the server is back.`;
  if (place.textContent !== then) place.textContent = then;
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

// A part in which somebody types or has chosen something is left alone until they are done.
function isUsed(part) {
  const inputs = [...part.querySelectorAll("input, textarea, select")];
  return inputs.some((input) => input.checked || isTyped(input) || (input === document.activeElement && input.type !== "checkbox"));
}

function isTyped(input) {
  if (input.tagName === "SELECT") return [...input.options].some((one) => one.selected !== one.defaultSelected) && input.selectedIndex > 0;
  return input.type !== "hidden" && input.value !== input.defaultValue;
}

function put(old, now) {
  const opened = new Set([...old.querySelectorAll("details[open][id]")].map((one) => one.id));
  const focused = old.contains(document.activeElement) ? signOf(document.activeElement) : null;
  const scrolled = [...old.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  old.replaceChildren(...[...now.childNodes].map((node) => document.importNode(node, true)));
  for (const one of old.querySelectorAll("details[id]")) one.open ||= opened.has(one.id);
  old.querySelectorAll(".scroll").forEach((one, i) => (one.scrollLeft = scrolled[i] ?? 0));
  if (focused) [...old.querySelectorAll("a, button, summary, [tabindex]")].find((one) => signOf(one) === focused)?.focus();
}

function signOf(element) {
  return `${element.tagName} ${element.getAttribute("href") ?? ""} ${element.id} ${element.textContent.trim().slice(0, 80)}`;
}

// A form that only tells a run something is sent without leaving the page.
async function send(event) {
  const form = event.target.closest("form[data-quiet]");
  if (!form) return;
  event.preventDefault();
  if (form.ariaBusy) return;
  form.ariaBusy = "true";
  try {
    const entries = new URLSearchParams(new FormData(form, event.submitter));
    const answer = await fetch(form.action, { method: "POST", body: entries });
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.ok) {
      // The address keeps the answer, as it does for a browser without scripts.
      history.replaceState(null, "", answer.url);
      form.reset();
    }
    exchange(parsed);
    // Said in any case, also where what is typed keeps the rest of the page as it is.
    say(parsed.getElementById("said")?.childNodes ?? ["That did not work: load this page again."]);
  } catch {
    say(["The server of this page does not answer. What you typed is still here."]);
    reach();
  } finally {
    form.ariaBusy = null;
  }
}

function say(what) {
  const place = document.getElementById("said");
  place.replaceChildren(...[...what].map((one) => (one.nodeType ? document.importNode(one, true) : one)));
  place.focus();
}

document.addEventListener("submit", send);
addEventListener("focus", () => "still" in body.dataset && comeBack());
document.addEventListener("visibilitychange", () => (document.hidden ? leave() : comeBack()));
addEventListener("pagehide", leave);
addEventListener("pageshow", (event) => event.persisted && comeBack());
follow();

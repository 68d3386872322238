// Search as the model searches, with everything it knows about each hit: for "why was my tool not found?".

import { html, useEffect, useRef, useState } from "./html.js";
import { search } from "./api.js";
import { duration, plural, sure } from "./format.js";
import { HitRow } from "./hit_row.js";
import { Notice } from "./notices.js";
import { address, go } from "./route.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

const LIMIT = 6;
const WAIT_MS = 140; // after the last key
const EXAMPLES = ["znajdź zdjęcie", "usuń starą stronę", "upload a picture from the web", "ブログ記事を公開する", "change the menu", "pizza recipe"];
const PATHS = {
  exact: "by its exact name",
  lexical: "by words alone",
  blended: "by words and meaning",
  dense: "by meaning alone",
  none: "nobody was sure",
};

export function Playground({ query }) {
  const [words, setWords] = useState(query.q ?? "");
  const { result, error, busy } = useSearch(words);
  const field = useRef(null);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    if ((query.q ?? "") !== words.trim()) go(["playground"], { query: words.trim() ? { q: words.trim() } : {}, replace: true });
  }, [words]);
  return html`
    <div class="playground">
      <header class="view-head"><h1>Playground</h1><p>What would the model find? Any language, any wording.</p></header>
      <div class="search-box">
        <input ref=${field} data-words type="search" dir="auto" aria-label="What to search for" placeholder="What should be done?" value=${words} onInput=${(event) => setWords(event.currentTarget.value)} />
        <span class="search-busy">${busy && html`<span class="spinner"></span>`}</span>
      </div>
      <p class="examples">${EXAMPLES.map((example) => html`<button class="chip button-chip" dir="auto" onClick=${() => setWords(example)}>${example}</button>`)}</p>
      ${error && html`<${Notice} message=${error.message} hint=${error.hint} />`}
      ${result && !error && words.trim() && html`<${Result} result=${result} />`}
      ${!words.trim() && html`<p class="empty-line">Hits appear as you type: how sure the search is, which arm decided, what plain BM25 would have said.</p>`}
    </div>
  `;
}

/** The newest answer for what is typed; older answers that come late are dropped. */
function useSearch(words) {
  const [found, setFound] = useState({ result: null, error: null, busy: false });
  useEffect(() => {
    const asked = words.trim();
    if (!asked) {
      setFound({ result: null, error: null, busy: false });
      return undefined;
    }
    const abort = new AbortController();
    setFound((before) => ({ ...before, busy: true }));
    const timer = setTimeout(async () => {
      try {
        const result = await search(asked, LIMIT, abort.signal);
        setFound({ result, error: null, busy: false });
      } catch (error) {
        if (error.name !== "AbortError") setFound({ result: null, error, busy: false });
      }
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [words]);
  return found;
}

function Result({ result }) {
  const tools = useStore(state, (value) => value.tools);
  const described = (name) => tools?.find((tool) => tool.name === name)?.description ?? "";
  const names = result.hits.map((hit) => hit.name);
  return html`
    <section class="verdict" data-sure=${result.hits.length ? "yes" : "no"} aria-live="polite">
      <${Dial} value=${result.confidence} />
      <div>
        <p class="verdict-line">${result.hits.length ? html`${plural(result.hits.length, "tool")}, found ${PATHS[result.path] ?? result.path}` : "No tool is offered"}</p>
        <p class="quiet">${result.hits.length ? "" : `${result.reason || "Nothing fits well enough."} `}sure ${sure(result.confidence)} · ${duration(result.took_ms)}</p>
      </div>
    </section>
    <div class="compared">
      <ol class="hits" aria-label="Hits">${result.hits.map((hit, place) => html`<${HitRow} key=${hit.name} hit=${hit} place=${place + 1} description=${described(hit.name)} best=${result.hits[0].score} />`)}
        ${names.length === 0 && html`<li class="hit none"><p>The model gets no tool rather than a wrong one, and is told how to ask better.</p>
          ${result.nearest?.length > 0 && html`<p class="quiet">Nearest, but not near enough: ${result.nearest.map((name) => html`<a class="chip mono button-chip" href=${address(["catalog", name])}>${name}</a> `)}</p>`}</li>`}
      </ol>
      <aside class="plain" aria-label="Plain BM25">
        <h2>Plain BM25</h2>
        <p class="quiet">The same words, ranked by a standard keyword search.</p>
        ${result.bm25?.length
          ? html`<ol>${result.bm25.map((name) => html`<li data-in=${names.includes(name)}><span class="mono">${name}</span></li>`)}</ol>`
          : html`<p class="plain-none">finds nothing</p>`}
      </aside>
    </div>
  `;
}

/** How sure, as an arc from 0 to 1. */
function Dial({ value }) {
  const around = 2 * Math.PI * 20;
  return html`
    <svg class="dial" viewBox="0 0 48 48" width="56" height="56" role="img" aria-label=${`Sure ${sure(value)}`}>
      <circle class="dial-ground" cx="24" cy="24" r="20" />
      <circle class="dial-value" cx="24" cy="24" r="20" stroke-dasharray="${around * value} ${around}" transform="rotate(-90 24 24)" />
      <text x="24" y="28" text-anchor="middle">${sure(value).replace(/^0/, "")}</text>
    </svg>
  `;
}

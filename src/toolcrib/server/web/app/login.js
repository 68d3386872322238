// The server wants a token: a field for it. The browser remembers it as a cookie.

import { html, useEffect, useRef, useState } from "./html.js";
import { logIn } from "./api.js";
import { loadApp } from "./loading.js";
import { Notice } from "./notices.js";

export function Login() {
  const [token, setToken] = useState("");
  const [error, setError] = useState(null);
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const submit = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      await logIn(token.trim());
      await loadApp();
    } catch (refused) {
      setError(refused);
      field.current.select();
    }
  };
  return html`
    <form class="login" onSubmit=${submit}>
      <h1>This server needs a token</h1>
      <p class="quiet">Whoever runs it has one. This browser remembers it for thirty days.</p>
      <label for="token">Token</label>
      <input ref=${field} id="token" type="password" autocomplete="current-password" value=${token} onInput=${(event) => setToken(event.currentTarget.value)} />
      ${error && html`<${Notice} message=${error.message} hint=${error.hint} />`}
      <button class="button primary" disabled=${!token.trim()}>Log in</button>
    </form>
  `;
}

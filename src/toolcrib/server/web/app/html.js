// The one place that knows the libraries: Preact for components, htm for tagged templates instead of a build step.

import { Fragment, h, render } from "../vendor/preact.js";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact-hooks.js";
import htm from "../vendor/htm.js";

const html = htm.bind(h);

export { Fragment, html, render, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };

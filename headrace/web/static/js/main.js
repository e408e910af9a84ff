// The frame around the pages: navigation, connection, token, theme, keys.

import { onToken, recallToken, takeToken } from "./api.js";
import { askToken } from "./dialog.js";
import { frame } from "./frame.js";
import { keys } from "./keys.js";
import { start } from "./live.js";
import { PAGES } from "./pages.js";
import { route, show } from "./router.js";

if (!takeToken()) recallToken();
onToken("refused", () => askToken());
onToken("token", () => show());
frame();
keys();
start();
route(PAGES);

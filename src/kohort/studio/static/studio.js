// Where every page begins: forms without reloads, events of the session, and the tools of each page.
import { liveForms } from "./live.js";
import { listen } from "./events.js";
import { uploads } from "./upload.js";
import { roleKeys } from "./roles.js";
import { builders, treeEditor } from "./tree.js";
import { promise } from "./promise.js";
import { run } from "./run.js";
import { judge } from "./judge.js";

liveForms();
uploads();
roleKeys();
builders();
treeEditor();
promise();
run();
judge();
listen();
document.documentElement.dataset.ready = "true"; // keys and clicks are heard from now on

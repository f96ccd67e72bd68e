// Uploads show how far they are, and files can be dropped onto their form.
import { answerShown, say } from "./live.js";

export function uploads() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-upload]")) return;
    event.preventDefault();
    send(event.target);
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const form = event.target.closest?.("form[data-upload]");
      if (!form || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      form.classList.toggle("over", kind === "dragover");
      if (kind === "drop") {
        form.querySelector("input[type=file]").files = event.dataTransfer.files;
        send(form);
      }
    });
  }
}

// XMLHttpRequest, because fetch does not say how much has been sent.
function send(form) {
  const bar = form.querySelector("progress");
  const request = new XMLHttpRequest();
  bar.hidden = false;
  request.upload.onprogress = (event) => { bar.value = event.loaded / event.total; };
  const show = answerShown(); // a page that is asked for from now on, such as that of the opened table, is newer
  request.onload = () => show(request.responseText, request.responseURL);
  request.onerror = () => location.reload(); // a refused upload may be cut off: the page says why
  request.ontimeout = () => say("The upload took too long.");
  request.open("POST", form.action);
  request.send(new FormData(form));
}

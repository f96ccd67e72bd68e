// Search without a server: browsers start no worker for a page that is opened from the disk, so a hidden
// frame of the same page takes its place. Served pages use a real worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = Object.assign(document.createElement("iframe"), { hidden: true });
      document.body.appendChild(this.frame);
      this.inside = this.frame.contentWindow;
      this.ready = new Promise((done) => (this.inside.frameReady = done));
      this.inside.importScripts = (...more) => more.reduce((before, one) => before.then(() => this.load(one)), Promise.resolve());
      this.inside.postMessage = (data) => this.tell(data);
      this.load(address).then(() => this.inside.frameReady());
    }

    load(address) {
      return new Promise((done, failed) => {
        const script = this.frame.contentDocument.createElement("script");
        Object.assign(script, { src: address, onload: done, onerror: failed });
        this.frame.contentDocument.body.appendChild(script);
      });
    }

    tell(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}

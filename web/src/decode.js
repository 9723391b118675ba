// Decoding of the data of the page.

const TYPES = {
  float64: Float64Array,
  float32: Float32Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  uint8: Uint8Array,
  uint32: Uint32Array,
};

function bytesOf(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Returns the data of the page: base64 text of compressed JSON. */
export async function unpack(text) {
  const stream = new Blob([bytesOf(text.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** Returns the typed array of {type, bytes}. */
export function typed({ type, bytes }) {
  return new TYPES[type](bytesOf(bytes).buffer);
}

// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.javalin.http.Context;
import java.io.IOException;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/** Reads the body of a request, up to a bound. */
final class RequestBody {
  /** Largest body; a check of the longest names is below 2 KiB. */
  static final int MAX_BYTES = 64 * 1024;

  /** Most bytes of a body too large that are read so that its sender can read the answer. */
  private static final int MAX_DISCARDED_BYTES = 1024 * 1024;

  private static final int DISCARD_STEP_BYTES = 8 * 1024;

  private RequestBody() {}

  /**
   * The body, or null when it is longer than allowed. Of a longer one some is read and thrown away:
   * a connection that is closed with bytes unread is reset, and the reset may reach the caller
   * before it has read why (RFC 9112 §9.6).
   */
  static byte @Nullable [] read(Context context) throws IOException {
    long declared = context.contentLength();
    InputStream in = context.req().getInputStream();
    if (declared <= MAX_BYTES) {
      byte[] body = in.readNBytes(declared >= 0 ? (int) declared : MAX_BYTES + 1);
      if (body.length <= MAX_BYTES) {
        return body;
      }
    }
    byte[] discarded = new byte[DISCARD_STEP_BYTES];
    for (int left = MAX_DISCARDED_BYTES; left > 0; left -= DISCARD_STEP_BYTES) {
      if (in.readNBytes(discarded, 0, DISCARD_STEP_BYTES) < DISCARD_STEP_BYTES) {
        break;
      }
    }
    return null;
  }

  static Problem tooLarge() {
    return Problem.of(
        413, "Content Too Large", "the body must have at most " + MAX_BYTES + " bytes");
  }
}

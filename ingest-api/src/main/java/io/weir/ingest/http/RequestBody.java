// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.javalin.http.Context;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;

/** The body of a request, which the {@link AdmissionHandler} has read. */
final class RequestBody {
  /** Largest body; a check with names of the greatest length is below 2 KiB. */
  static final int MAX_BYTES = 64 * 1024;

  /** Largest body of a batch: a thousand checks of a thousand bytes each. */
  static final int MAX_BATCH_BYTES = 1024 * 1024;

  private RequestBody() {}

  /** Returns the whole body, empty if there was none. */
  static byte[] of(Context context) {
    if (context.req().getAttribute(AdmissionHandler.BODY) instanceof byte[] body) {
      return body;
    }
    throw new IllegalStateException("the admission handler has not read the body");
  }

  static Problem tooLarge(int maxBytes) {
    return Problem.of(
        ProblemReason.BODY_TOO_LARGE, "the body must have at most " + maxBytes + " bytes");
  }
}

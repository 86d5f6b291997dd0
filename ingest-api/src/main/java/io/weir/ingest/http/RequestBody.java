// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.javalin.http.Context;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;

/** The body of a request, which the {@link AdmissionHandler} has read. */
final class RequestBody {
  /** Maximum size of a body in bytes. A check with names of the maximum length is below 2 KiB. */
  static final int MAX_BYTES = 64 * 1024;

  /** Maximum size of a batch's body in bytes, for 1,000 checks of about 1,000 bytes. */
  static final int MAX_BATCH_BYTES = 1024 * 1024;

  private RequestBody() {}

  /** Returns the complete body; empty if the request has no body. */
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

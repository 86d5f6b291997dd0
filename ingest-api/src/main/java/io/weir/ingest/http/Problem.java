// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import org.jspecify.annotations.Nullable;

/**
 * A problem document (RFC 9457).
 *
 * @param type a URI, or {@code about:blank} when the status says it all
 * @param title the type in words
 * @param status the HTTP status
 * @param detail what is wrong here, and what would be right
 * @param field the request's member, parameter or header that is wrong; null when none is
 */
record Problem(String type, String title, int status, String detail, @Nullable String field) {
  private static final String REGISTRY = "https://iana.org/assignments/http-problem-types#";

  /** Problem type of a refused call (draft-ietf-httpapi-ratelimit-headers-11 §6). */
  static final String QUOTA_EXCEEDED = REGISTRY + "quota-exceeded";

  /** Problem type of a service that cannot take the call now (the same draft). */
  static final String TEMPORARY_REDUCED_CAPACITY = REGISTRY + "temporary-reduced-capacity";

  static final String CONTENT_TYPE = "application/problem+json";

  static Problem badRequest(String field, String detail) {
    return new Problem("about:blank", "Bad Request", 400, field + " " + detail, field);
  }

  static Problem badBody(String detail) {
    return new Problem("about:blank", "Bad Request", 400, detail, null);
  }

  static Problem unavailable(String detail) {
    return new Problem(
        TEMPORARY_REDUCED_CAPACITY, "Temporarily reduced capacity", 503, detail, null);
  }

  static Problem of(int status, String title, String detail) {
    return new Problem("about:blank", title, status, detail, null);
  }
}

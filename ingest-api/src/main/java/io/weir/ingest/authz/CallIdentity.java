// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.access.caller.CallerTokenSettings;
import org.jspecify.annotations.Nullable;

/**
 * The method by which Weir identifies the client of a call. A node uses one method, or two methods
 * in a fixed order. So a caller cannot choose the method.
 */
public sealed interface CallIdentity {
  /** Returns the name of the header field that identifies the client. */
  String header();

  /**
   * The header field contains the client's name, which the gateway has determined.
   *
   * @param header name of the header field
   */
  record ClientName(String header) implements CallIdentity {}

  /**
   * The header field contains an API key of the client. In {@code Authorization} the key follows
   * the scheme {@code ApiKey} or {@code Bearer}.
   *
   * @param header name of the header field
   */
  record ClientKey(String header) implements CallIdentity {}

  /**
   * The header field contains a token (JWT) of the caller, with the client in a claim. In {@code
   * Authorization} the token follows the scheme {@code Bearer}. In other fields the scheme is
   * optional.
   *
   * @param header name of the header field
   * @param tokens the rules for accepted tokens
   * @param otherwise the method for calls without a token; null if Weir refuses such calls. Weir
   *     always refuses an invalid token
   */
  record ClientToken(String header, CallerTokenSettings tokens, @Nullable CallIdentity otherwise)
      implements CallIdentity {}
}

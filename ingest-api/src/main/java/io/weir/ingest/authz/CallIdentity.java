// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.access.caller.CallerTokenSettings;
import org.jspecify.annotations.Nullable;

/**
 * How the client of a call is identified. A node uses one kind, or two in a fixed order, so that no
 * caller can choose how it is identified.
 */
public sealed interface CallIdentity {
  /** Returns the name of the header field that is read. */
  String header();

  /**
   * The client's name, which the gateway has determined.
   *
   * @param header name of the header field
   */
  record ClientName(String header) implements CallIdentity {}

  /**
   * An API key of the client. In {@code Authorization} it follows the scheme {@code ApiKey} or
   * {@code Bearer}.
   *
   * @param header name of the header field
   */
  record ClientKey(String header) implements CallIdentity {}

  /**
   * A token (JWT) of the caller; one of its claims is the client. In {@code Authorization} it
   * follows the scheme {@code Bearer}; in other fields the scheme is optional.
   *
   * @param header name of the header field
   * @param tokens the rules for accepted tokens
   * @param otherwise how to identify the client if there is no token; an invalid token is always
   *     refused. Null if a token is required
   */
  record ClientToken(String header, CallerTokenSettings tokens, @Nullable CallIdentity otherwise)
      implements CallIdentity {}
}

// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.access.caller.CallerTokenSettings;
import org.jspecify.annotations.Nullable;

/**
 * What tells whose call it is. One kind is in force on a node, or one behind the other in a fixed
 * order, so that no caller can choose by which it is known.
 */
public sealed interface CallIdentity {
  /** Returns the name of the header field that is looked at. */
  String header();

  /**
   * The name of the client itself, which the gateway has found out.
   *
   * @param header name of the header field
   */
  record ClientName(String header) implements CallIdentity {}

  /**
   * An API key of the client; in {@code Authorization}, behind the scheme {@code ApiKey} or {@code
   * Bearer}.
   *
   * @param header name of the header field
   */
  record ClientKey(String header) implements CallIdentity {}

  /**
   * A token (JWT) of the caller, a claim of which is the client; in {@code Authorization} behind
   * the scheme {@code Bearer}, in other fields with or without it.
   *
   * @param header name of the header field
   * @param tokens which tokens are accepted
   * @param otherwise what tells whose call it is if there is no token; a token that is not accepted
   *     is refused all the same. Null if there must be a token
   */
  record ClientToken(String header, CallerTokenSettings tokens, @Nullable CallIdentity otherwise)
      implements CallIdentity {}
}

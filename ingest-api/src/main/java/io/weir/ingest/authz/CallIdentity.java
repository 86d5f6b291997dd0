// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

/**
 * What tells whose call it is. One kind is in force on a node, so that no caller can choose by
 * which it is known.
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
}

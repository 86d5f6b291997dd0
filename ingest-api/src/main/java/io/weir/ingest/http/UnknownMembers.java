// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

/** The treatment of a request whose body has an unknown member. */
public enum UnknownMembers {
  /**
   * The request is refused. Otherwise a request with a misspelt {@code endpoint} would bypass every
   * limit on endpoints.
   */
  REFUSE,
  /** The member is ignored. */
  IGNORE
}

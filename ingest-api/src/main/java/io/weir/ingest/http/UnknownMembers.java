// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

/** The treatment of a request whose body has an unknown member. */
public enum UnknownMembers {
  /**
   * The request is refused. If Weir ignored a misspelt member such as {@code endpont}, the request
   * would bypass every limit on endpoints.
   */
  REFUSE,
  /** The member is ignored. */
  IGNORE
}

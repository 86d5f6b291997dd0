// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

/** What becomes of a request whose body has a member that is not known. */
public enum UnknownMembers {
  /** It is refused: a misspelt {@code endpoint} must not slip past every limit on endpoints. */
  REFUSE,
  /** The member is passed over. */
  IGNORE
}

// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

/** The origins from which policies may be read and changed over HTTP. */
public enum AdminAccess {
  /** The machine of the node, by a loopback address. */
  LOOPBACK,
  /** Everywhere: a proxy in front of the node controls access. */
  ANY
}

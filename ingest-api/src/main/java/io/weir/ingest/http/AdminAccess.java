// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

/** The senders that may read and change policies over HTTP. */
public enum AdminAccess {
  /** Only processes on the node's machine, through a loopback address. */
  LOOPBACK,
  /** Any sender, because a proxy in front of the node controls access. */
  ANY
}

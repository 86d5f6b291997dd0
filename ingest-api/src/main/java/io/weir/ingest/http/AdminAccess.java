// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

/** From where policies may be read and changed over HTTP. */
public enum AdminAccess {
  /** From the machine of the node, by a loopback address. */
  LOOPBACK,
  /** From everywhere: something in front of the node decides who may. */
  ANY
}

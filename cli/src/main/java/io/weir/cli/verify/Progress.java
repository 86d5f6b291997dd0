// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

/** Receives what is being read, and how much of it has been read. */
public interface Progress {
  void step(String what, long done, long total);
}

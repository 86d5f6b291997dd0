// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

/** Receives the progress of a command. */
public interface ReadProgress {
  void step(String what, long done, long total);
}

// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

/**
 * One key and window.
 *
 * @param partition of the calls topic
 * @param startEpochMillis the window's start
 */
record Slot(String client, String meter, String endpoint, long startEpochMillis, int partition) {}

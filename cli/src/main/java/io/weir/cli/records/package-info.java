// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the records of Weir's topics by rules of its own, written from {@code docs/topics}. {@code
 * verify} and {@code replay} share it.
 *
 * <p>It has its own code to consume topics, decode batch headers, read calls and check limits,
 * although {@code io.weir.topics} and {@code io.weir.limits} have that code for all other modules.
 * An error there that skips calls would otherwise be in both the ledger and its proof.
 */
@NullMarked
package io.weir.cli.records;

import org.jspecify.annotations.NullMarked;

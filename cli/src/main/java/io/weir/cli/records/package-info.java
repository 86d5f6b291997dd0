// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the records of Weir's topics by rules of its own, written from {@code docs/topics}. The
 * packages {@code verify} and {@code replay} share this code.
 *
 * <p>This package has its own code to consume topics, decode batch headers, read calls and check
 * limits. All other modules use {@code io.weir.topics} and {@code io.weir.limits} for these tasks.
 * If the verifier used that code, an error that skips calls would be in both the ledger and its
 * proof.
 */
@NullMarked
package io.weir.cli.records;

import org.jspecify.annotations.NullMarked;

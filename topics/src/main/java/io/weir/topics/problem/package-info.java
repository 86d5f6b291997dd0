// SPDX-License-Identifier: Apache-2.0
/**
 * The problem documents of the check API and the reports API, and their pages. The package depends
 * only on a JSON library.
 */
@NullMarked
package io.weir.topics.problem;

import org.jspecify.annotations.NullMarked;

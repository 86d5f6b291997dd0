// SPDX-License-Identifier: Apache-2.0
/**
 * Problems of requests: one set for the check API and the reports API, each with its page. The
 * package depends only on a JSON library.
 */
@NullMarked
package io.weir.topics.problem;

import org.jspecify.annotations.NullMarked;

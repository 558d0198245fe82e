/* What is known of a task's server where it has not said a word of its own about the task. */
export const TRUTH = {
  unsaid: {
    awaiting: (server: string) => `${server} has not replied yet`,
    ownCall: (server: string) => `${server} has not replied yet`,
    asking: (server: string) => `${server} asks before it starts`,
    notSent: () => "Nothing was sent",
    unanswered: (server: string) => `The reply of ${server} can no longer arrive`,
    direct: (server: string) => `${server} answered at once`,
    refused: (server: string) => `${server} answered with an error`,
    task: (server: string) => `${server} gave no status`,
  },
  called: (when: string) => `called ${when}`,
  made: (when: string) => `made ${when}`,
  heard: (when: string) => `heard ${when}`,
} as const;
